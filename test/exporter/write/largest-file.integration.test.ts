import fs from 'node:fs';
import { mkdir, readdir } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { describe, expect, it } from 'vitest';
import { formatError } from '#bundles/errors';
import { openSource } from '../../../exporter/source/open-source.ts';
import { FAT_MAX_FILE, tooLargeFor } from '../../../exporter/plan/medium/free-space.ts';
import { writeTarFile } from '../../../exporter/write/write-tar-file.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { runCommand } from '../../harness/run/run-command.ts';
import { makeKioskWorld, type World } from '../world.ts';

const PROGRAM = programFile('exporter');

/** What the kernel says of a mounted FAT32: a machine without that driver cannot mount one. */
const onFat = async <T>(work: () => Promise<T>): Promise<T> => {
  const real = fs.promises.statfs;
  const fat = async (path: fs.PathLike) => Object.assign(await real(path), { type: 0x4d44 });
  Reflect.set(fs.promises, 'statfs', fat);
  syncBuiltinESMExports();
  try {
    return await work();
  } finally {
    Reflect.set(fs.promises, 'statfs', real);
    syncBuiltinESMExports();
  }
};

/** Writes the world's release as a tar, its first blob said to be of this size. */
const writeWith = async (world: World, size: number): Promise<string> => {
  const { plan } = await world.plan();
  const [first, ...rest] = plan.blobs;
  const large = { ...plan, blobs: [...(first ? [{ ...first, size }] : []), ...rest] };
  await using source = await openSource(world.path('layout'), {
    plainHttp: [],
    caFile: undefined,
    authFile: undefined,
    env: {},
  });
  const options = { readBack: false, onBytes: () => {} };
  return await writeTarFile(large, source, world.path('out/medium.tar'), options).then(
    () => 'written',
    (error: unknown) => formatError(error as Parameters<typeof formatError>[0]),
  );
};

describe('a tar that is too large for the file system', () => {
  it('is refused on FAT32 from 4 GiB on before it is written, with what to do', async () => {
    await using world = await makeKioskWorld();
    const said = await onFat(() => writeWith(world, FAT_MAX_FILE));
    expect(said).toMatch(
      /^USAGE: \S+out cannot hold a file of 4\.00 GiB: it is FAT32\. Give the folder itself with --to, for a medium in files or, with --part-size, in parts\.$/,
    );
    expect(await readdir(world.path('out'))).toEqual([]);
    // As a plan notes it.
    expect(await onFat(() => tooLargeFor(world.path('out'), FAT_MAX_FILE + 1))).toMatch(
      /out cannot hold a file/,
    );
    expect(await onFat(() => tooLargeFor(world.path('out'), FAT_MAX_FILE))).toBeUndefined();
    expect(await tooLargeFor(world.path('out'), FAT_MAX_FILE + 1)).toBeUndefined();
    // Smaller on FAT32, or elsewhere, it is begun; then this blob is not what was said of it.
    expect(await onFat(() => writeWith(world, FAT_MAX_FILE - (1 << 20)))).toMatch(/^SIZE_MISMATCH: /);
    expect(await writeWith(world, FAT_MAX_FILE)).toMatch(/^SIZE_MISMATCH: /);
  });

  it('is reported in one message when the write fails with EFBIG, and its file is removed', async () => {
    await using world = await makeKioskWorld();
    const words = ['create', '--from', world.path('layout'), '--channel', 'prod/kiosk'];
    const to = world.path('out/medium.tar');
    await mkdir(world.path('out'));
    const create = [process.execPath, PROGRAM, ...words, '--to', to, '--now', '2026-11-21T08:00:00Z'];
    const limited = ['sh', '-c', 'ulimit -f 20; exec "$@"', 'sh', ...create];
    const { code, stderr } = await runCommand(limited, { env: { PATH: process.env['PATH'] } });
    expect([code, stderr]).toEqual([
      2,
      expect.stringMatching(/USAGE: writing \S+medium\.tar: EFBIG: file too large, write\. .*folder/),
    ]);
    expect(await readdir(world.path('out'))).toEqual([]);
    // As a plan notes it.
    expect(await onFat(() => tooLargeFor(world.path('out'), FAT_MAX_FILE + 1))).toMatch(
      /out cannot hold a file/,
    );
    expect(await onFat(() => tooLargeFor(world.path('out'), FAT_MAX_FILE))).toBeUndefined();
    expect(await tooLargeFor(world.path('out'), FAT_MAX_FILE + 1)).toBeUndefined();
  });
});
