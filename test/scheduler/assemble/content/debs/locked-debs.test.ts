import { expect, test } from 'vitest';
import { withLockedDebs } from '../../../../../scheduler/assemble/content/debs/locked-debs.ts';
import type { ClusterType } from '../../../../../scheduler/model/model.ts';

const at = { file: 'package.yaml', line: 6, column: 7 };
const press = { name: 'press', debianBase: 'factory-12' } as ClusterType;
const named = (...packages: string[]) => ({
  packages,
  url: undefined,
  sha256: undefined,
  source: undefined,
  at,
});
const locks = {
  files: new Map(),
  debs: new Map([
    ['factory-12: app lib', ['https://deb.example/app.deb', 'https://deb.example/lib.deb']],
    ['factory-12: lib', ['https://deb.example/lib.deb']],
  ]),
};

test('package names are replaced by the locked URLs, sorted, each URL once', () => {
  const file = { ...named(), packages: undefined, source: 'own.deb' };
  const found = withLockedDebs([named('lib', 'app', 'lib'), file, named('lib')], press, locks);
  expect(found.map(({ url, source }) => url ?? source)).toEqual([
    'https://deb.example/app.deb',
    'https://deb.example/lib.deb',
    'own.deb',
  ]);
});

test('a name that is not locked for this base is CONTENT_UNPINNED with its position', () => {
  expect(() => withLockedDebs([named('app')], press, locks)).toThrow(
    expect.objectContaining({ code: 'CONTENT_UNPINNED', at }),
  );
  expect(() => withLockedDebs([named('lib')], { ...press, debianBase: 'factory-13' }, locks)).toThrow(
    expect.objectContaining({ code: 'CONTENT_UNPINNED' }),
  );
});

test('names for a cluster type without debianBase are refused with its name', () => {
  expect(() => withLockedDebs([named('app')], { ...press, debianBase: undefined }, locks)).toThrow(
    expect.objectContaining({
      code: 'REFERENCE_MISSING',
      message: expect.stringContaining('cluster type press'),
    }),
  );
});
