import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { startFile } from '../../bundling/start-file.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';

const REPOSITORY = join(import.meta.dirname, '../..');

it.each([
  ['linux-arm64', 'fleet-export'],
  ['darwin-arm64', 'fleet-export'],
  ['win32-x64', 'fleet-export.cmd'],
])('a program for %s is started by its name, with %s beside its first file', async (platform, starter) => {
  await using folder = await temporaryDirectory('start');
  const out = join(folder.path, 'exporter');
  await mkdir(out);
  const { writeBundle } = startFile(REPOSITORY, 'exporter/fleet-export.js', out, platform);
  await (writeBundle as () => unknown)();
  const first = await readFile(join(out, 'fleet-export.mjs'), 'utf8');
  expect((await readdir(out)).filter((name) => name.startsWith('fleet-export'))).toEqual(
    [starter, 'fleet-export.mjs'].toSorted(),
  );
  expect(await readFile(join(out, starter), 'utf8')).toBe(
    platform.startsWith('win32') ? '@node "%~dp0fleet-export.mjs" %*\r\n' : first,
  );
});
