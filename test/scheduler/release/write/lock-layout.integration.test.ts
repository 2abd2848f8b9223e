import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { lockLayout } from '../../../../scheduler/release/write/lock-layout.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const NOW = new Date('2026-11-21T08:00:00Z');

test("a second process gets BUSY with the holder's name, and the lock after its release", async () => {
  await using folder = await temporaryDirectory();
  {
    using _ = await lockLayout(folder.path, 'build', NOW);
    await expect(lockLayout(folder.path, 'build', NOW)).rejects.toMatchObject({
      code: 'BUSY',
      message: `fleet-scheduler build (process ${process.pid}, since 2026-11-21T08:00:00Z) is writing to ${folder.path}`,
    });
  }
  using _ = await lockLayout(folder.path, 'build', NOW);
});

test('takes over the lock of a killed process, and removes its temporary files', async () => {
  await using folder = await temporaryDirectory();
  const blobs = join(folder.path, 'blobs', 'sha256');
  await mkdir(blobs, { recursive: true });
  const module = join(import.meta.dirname, '../../../../scheduler/release/write/lock-layout.ts');
  const program = `
    const { lockLayout } = await import(${JSON.stringify(module)});
    await lockLayout(${JSON.stringify(folder.path)}, 'build', new Date());
    console.log('locked');
    setInterval(() => {}, 1000);`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  await once(child.stdout, 'data');
  await writeFile(join(blobs, '.tmp-12345678'), 'half a blob');
  await writeFile(join(folder.path, '.tmp-87654321'), 'half an index');
  await expect(lockLayout(folder.path, 'build', NOW)).rejects.toMatchObject({ code: 'BUSY' });
  child.kill('SIGKILL');
  await once(child, 'exit');
  using _ = await lockLayout(folder.path, 'build', NOW);
  expect(await readdir(blobs)).toEqual([]);
  expect((await readdir(folder.path)).filter((name) => name.startsWith('.tmp-'))).toEqual([]);
});

test('temporary files are kept when no holder was killed', async () => {
  await using folder = await temporaryDirectory();
  await writeFile(join(folder.path, '.tmp-12345678'), 'half of a site statement');
  using _ = await lockLayout(folder.path, 'build', NOW);
  expect(await readdir(folder.path)).toContain('.tmp-12345678');
});

test('a path that cannot be a folder is an IO error', async () => {
  await using folder = await temporaryDirectory();
  const file = join(folder.path, 'file');
  await writeFile(file, '');
  await expect(lockLayout(file, 'build', NOW)).rejects.toMatchObject({ code: 'IO' });
});
