import { expect, test } from 'vitest';
import { readDpkg } from '../../../../../agent/apply/host/debs/dpkg-state.ts';
import { never } from '../sandbox.ts';

const read = (rows: readonly string[]) =>
  readDpkg({
    signal: never,
    run: async () => ({ code: 0, stderr: '', stdout: rows.map((row) => `${row}\n`).join('') }),
  });

test("packages are named as by apt: with the architecture when it is not dpkg's", async () => {
  const dpkg = await read([
    'dpkg\tamd64\t1.21.22\tinstall\tok\tinstalled',
    'libc6\tamd64\t2.36-9\tinstall\tok\tinstalled',
    'libc6\ti386\t2.36-9\tinstall\tok\tinstalled',
    'tzdata\tall\t2026b\thold\tok\tinstalled',
  ]);
  expect([...dpkg.keys()]).toEqual(['dpkg', 'libc6', 'libc6:i386', 'tzdata']);
  expect(dpkg.get('tzdata')).toEqual({
    version: '2026b',
    status: 'installed',
    word: 'installed',
    unpackAgain: false,
    hold: true,
  });
});

test('half-installed packages and pending triggers count as broken; packages known only by name are left out', async () => {
  const dpkg = await read([
    'a\tall\t1\tinstall\tok\thalf-configured',
    'b\tall\t1\tdeinstall\tok\tconfig-files',
    'c\tall\t\tunknown\tok\tnot-installed',
    'd\tall\t1\tinstall\treinstreq\thalf-configured',
    'e\tall\t1\tinstall\tok\ttriggers-pending',
  ]);
  expect([...dpkg].map(([name, { status }]) => `${name} ${status}`)).toEqual([
    'a broken',
    'b removed',
    'd broken',
    'e broken',
  ]);
  expect([...dpkg].flatMap(([name, { unpackAgain }]) => (unpackAgain ? [name] : []))).toEqual(['d']);
});
