import { expect, test } from 'vitest';
import type { AssembledPackage } from '../../../../scheduler/assemble/bundle/assembled-package.ts';
import { newClaims } from '../../../../scheduler/assemble/bundle/claim-package.ts';

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

test('what one package owns no other may own by another name that is the same on every host', () => {
  const claim = newClaims();
  claim(made('a', ['/lib/systemd/system/x.service', '/var/run/y']));
  expect(() => claim(made('b', ['/usr/lib/systemd/system/x.service']))).toThrow(
    'b brings /usr/lib/systemd/system/x.service and a brings /lib/systemd/system/x.service, which are one file on every host: /usr/lib/systemd/system/x.service',
  );
  expect(() => claim(made('c', ['/run/y']))).toThrow('one file on every host: /run/y');
  claim(made('d', ['/library/x', '/var/running/y']));
});

test('two packages in one namespace may own different things in it, and not the same', () => {
  const claim = newClaims();
  claim(made('a', ['Service shop/web']));
  claim(made('b', ['Service shop/api']));
  expect(() => claim(made('c', ['Service shop/web']))).toThrow('c and a both bring Service shop/web');
});

test('a site input means the same in all packages', () => {
  const claim = newClaims();
  claim(made('a', [], { type: 'integer' }));
  claim(made('b', [], { type: 'integer' }));
  expect(() => claim(made('c', [], { type: 'string' }))).toThrow(
    'c and a give the site input line two different schemas',
  );
});
