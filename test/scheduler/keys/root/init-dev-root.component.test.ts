import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import RootInit from '../../../../scheduler/commands/root/init.ts';
import { openKeyDirectory } from '../../../../scheduler/keys/key-directory.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { runCommandClass } from '../../commands/run-command-class.ts';

const NOW = ['--now', '2026-11-21T08:00:00Z'];

it('a development root with --bundle counts the key of an approver beside its own, which still signs', async () => {
  await using folder = await temporaryDirectory();
  const approver = loadSigningKey(generatePrivateKey()).public;
  const [file, keys] = [join(folder.path, 'carla.pub'), join(folder.path, 'keys')];
  await writeFile(file, approver.pem);
  const words = ['--dev', '--fleet', 'halden', '--keys', keys, '--bundle', file, ...NOW];
  expect(await runCommandClass(RootInit, words)).toMatchObject({ code: 0 });
  const directory = await openKeyDirectory(keys);
  const own = (await directory.key('bundle')).public;
  expect(directory.root.roles.bundle.keys.map(({ hint }) => hint).sort()).toEqual(
    [approver.hint, own.hint].sort(),
  );
});

it('root init --dev refuses flags for drafts, and creates nothing', async () => {
  await using folder = await temporaryDirectory();
  const keys = join(folder.path, 'keys');
  const words = [
    '--dev',
    '--fleet',
    'halden',
    '--keys',
    keys,
    '--release',
    'release.pub',
    '--threshold',
    '2',
  ];
  const ran = await runCommandClass(RootInit, [...words, ...NOW]);
  expect(ran.code).toBe(2);
  expect(ran.err).toContain('--dev creates the keys of a root itself, but --threshold, --release is given');
  expect(await readdir(folder.path)).toEqual([]);
});
