import { expect, test } from 'vitest';
import type { AssembledPackage } from '../../../scheduler/bundle/assembled-package.ts';
import { newClaims } from '../../../scheduler/bundle/claim-package.ts';

const made = (
  id: string,
  owns: readonly string[],
  schema?: { readonly [key: string]: string },
): AssembledPackage =>
  ({
    id,
    owns,
    siteInputs: schema ? [{ input: 'line', file: '/a', pointer: '/A', schema }] : [],
    assignment: { target: { at: { file: `${id}.yaml` } } },
  }) as unknown as AssembledPackage;

test('what one package owns no other may own', () => {
  const claim = newClaims();
  claim(made('a', ['/etc/x', 'a.service']));
  expect(() => claim(made('b', ['/etc/y', '/etc/x']))).toThrow('b and a both bring /etc/x');
  // The refused one claims nothing.
  claim(made('c', ['/etc/y']));
});

test('of packages that are each in a namespace of their own nobody asks what they own, until another could name it', () => {
  let asked = 0;
  const within = (id: string, namespace: string, own = 'web'): AssembledPackage =>
    Object.defineProperty({ ...made(id, []), within: namespace }, 'owns', {
      get: () => {
        asked += 1;
        return [`Service ${namespace}/${own}`];
      },
    });
  const claim = newClaims();
  claim(within('a', 'ns-a'));
  claim(within('b', 'ns-b'));
  expect(asked).toBe(0);
  expect(() => claim(made('c', ['ClusterRole x', 'Service ns-b/web']))).toThrow(
    'c and b both bring Service ns-b/web',
  );
  // Whoever comes later, of the same namespace too.
  expect(() => claim(within('d', 'ns-a'))).toThrow('d and a both bring Service ns-a/web');
  claim(within('e', 'ns-a', 'api'));
  expect(() => claim(made('f', ['Service ns-a/api']))).toThrow('f and e both bring Service ns-a/api');
});

test('two packages in one namespace may own different things in it, and not the same', () => {
  const within = (id: string, own: string): AssembledPackage => ({
    ...made(id, [`Service shop/${own}`]),
    within: 'shop',
  });
  const claim = newClaims();
  claim(within('a', 'web'));
  claim(within('b', 'api'));
  expect(() => claim(within('c', 'web'))).toThrow('c and a both bring Service shop/web');
});

test('a site input means the same in all packages', () => {
  const claim = newClaims();
  claim(made('a', [], { type: 'integer' }));
  claim(made('b', [], { type: 'integer' }));
  expect(() => claim(made('c', [], { type: 'string' }))).toThrow(
    'c and a give the site input line two different schemas',
  );
});
