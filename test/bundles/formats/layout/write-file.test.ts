import { expect, it } from 'vitest';
import { draftsOf } from '../../../../bundles/formats/layout/write-file.ts';

it('gives each of many new files a temporary name of its own, which exporters know', () => {
  const files = Array.from({ length: 150_000 }, (_, at) => ({ path: `/a/${at}`, bytes: new Uint8Array() }));
  const names = new Set(draftsOf(files).map(({ from }) => from));
  expect(names.size).toBe(files.length);
  expect([...names].filter((name) => !/^[/\\]a[/\\]\.tmp-[0-9a-f]{8}$/.test(name))).toEqual([]);
});
