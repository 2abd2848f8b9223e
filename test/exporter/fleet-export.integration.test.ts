import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { runCommand } from '../harness/run/run-command.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';

const PROGRAM = join(import.meta.dirname, '../../exporter/fleet-export.js');

describe('the program fleet-export', () => {
  it('runs by its name through a symbolic link, with the first Node.js in PATH', async () => {
    await using folder = await temporaryDirectory('program');
    const link = join(folder.path, 'fleet export');
    await symlink(PROGRAM, link);
    const PATH = [dirname(process.execPath), process.env['PATH']].join(delimiter);
    const shown = await runCommand([link, '--version'], { env: { PATH } });
    expect(shown).toMatchObject({ code: 0, stdout: expect.stringMatching(/^fleet-export\/\d/) });
    const none = join(folder.path, 'no stick');
    const refused = await runCommand([link, 'inspect', none], { env: { PATH } });
    expect(refused).toMatchObject({
      code: 5,
      stderr: expect.stringContaining(`there is no medium at ${none}`),
    });
  });

  it.each([
    [undefined, '1'],
    ['3', '3'],
  ])('sets MALLOC_ARENA_MAX to 1 unless it is set (%s)', async (given, expected) => {
    await using folder = await temporaryDirectory('program');
    const bin = join(folder.path, 'bin');
    await mkdir(bin);
    await writeFile(join(bin, 'node'), '#!/bin/sh\nprintf "%s|" "$MALLOC_ARENA_MAX" "$@"\n');
    await chmod(join(bin, 'node'), 0o755);
    const env = { PATH: `${bin}:/usr/bin:/bin`, ...(given !== undefined && { MALLOC_ARENA_MAX: given }) };
    const { stdout } = await runCommand([PROGRAM, 'create', '--to', 'a b', ''], { env });
    expect(stdout).toBe(`${[expected, PROGRAM, 'create', '--to', 'a b', ''].join('|')}|`);
  });
});
