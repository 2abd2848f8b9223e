import { expect, test } from 'vitest';
import { fairLimit } from '../../../exporter/serve/registry-handler.ts';

const later = () => Promise.withResolvers<void>();

test('fairLimit limits one client to its share, and a later client does not wait behind its queue', async () => {
  const limit = fairLimit(3, 2);
  const begun: string[] = [];
  const gate = later();
  const work = (client: string) =>
    limit(client)(async () => {
      begun.push(client);
      await gate.promise;
    });
  const all = [...Array.from({ length: 5 }, () => work('a')), work('b'), work('c')];
  await new Promise((resolve) => setImmediate(resolve));
  expect(begun).toEqual(['a', 'a', 'b']);
  gate.resolve();
  await Promise.all(all);
  expect(begun.toSorted()).toEqual(['a', 'a', 'a', 'a', 'a', 'b', 'c']);
});

test('fairLimit frees the place of work that fails', async () => {
  const limit = fairLimit(1, 1);
  await expect(limit('a')(async () => Promise.reject(new Error('gone')))).rejects.toThrow('gone');
  expect(await limit('a')(async () => 'done')).toBe('done');
});
