import { expect, test } from 'vitest';
import { hooksFor, irreversibleNotes } from '../../../../../agent/apply/host/plan/deb-hooks.ts';
import { readOwned } from '../../../../../agent/apply/host/owned/owned-state.ts';
import type { AptChange } from '../../../../../agent/apply/host/debs/simulate-apt.ts';
import { readWanted } from '../../../../../agent/apply/host/desired/read-wanted.ts';
import { packageOf } from '../sandbox.ts';

const install = {
  repository: '/var/lib/fleet-ferry/apt/shop',
  packages: [{ name: 'shop', version: '2' }],
  conffiles: 'keep' as const,
  onRemoval: 'remove' as const,
  services: 'start' as const,
  hooks: [
    {
      package: 'shop',
      before: '/opt/dump',
      after: '/opt/migrate',
      restore: '/opt/restore',
      timeoutSeconds: 60,
    },
  ],
};

/** 'before /opt/dump 1 2' of each hook that runs, where the inventory has the Debian package at `ownedAt`. */
const hooks = (change: AptChange, ownedAt?: string): readonly string[] => {
  const owned = readOwned(ownedAt === undefined ? [] : [{ key: 'deb:shop', state: { version: ownedAt } }]);
  const wanted = { ...readWanted(packageOf({})), install };
  return hooksFor({ wanted, owned }, [change]).map(
    ({ when, path, from, to, program }) => `${when} ${path} ${from ?? 'none'} ${to} ${program}`,
  );
};

const downgrade = { name: 'shop', from: '3', to: '2', isDowngrade: true } as const;

test('an upgrade runs the before and after hooks, an installation the after hook', () => {
  expect(hooks({ name: 'shop', from: '1', to: '2' }, '1')).toEqual([
    'before /opt/dump 1 2 hooks/0',
    'after /opt/migrate 1 2 hooks/1',
  ]);
  expect(hooks({ name: 'shop', from: null, to: '2' })).toEqual(['after /opt/migrate none 2 hooks/0']);
});

test('a downgrade runs the restore hook; a removal or a change without a version runs none', () => {
  expect(hooks(downgrade, '3')).toEqual(['restore /opt/restore 3 2 hooks/0']);
  expect(hooks({ name: 'shop', from: '1', to: null }, '1')).toEqual([]);
  expect(hooks({ name: 'other', from: '1', to: '2' })).toEqual([]);
});

test('reinstalling a version that was changed on the host runs no restore hook', () => {
  expect(hooks(downgrade, '2')).toEqual([]);
});

test('a downgrade without a restore hook warns that data stay', () => {
  expect(irreversibleNotes([downgrade], [])).toEqual(['data of shop stay as the newer version left them']);
  expect(irreversibleNotes([{ name: 'shop', from: '1', to: '2' }], [])).toEqual([]);
});
