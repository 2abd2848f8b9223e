import { mkdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { findProgram } from '../../../../harness/run/find-program.ts';
import { runOrFail } from '../../../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../../../harness/run/temporary-directory.ts';

it.skipIf(process.getuid?.() !== 0 || findProgram('mkfs.btrfs') === undefined)(
  'a file on btrfs shares the bytes of its blob, and one of a damaged or longer blob never gets its name',
  async () => {
    await using folder = await temporaryDirectory('btrfs');
    const [image, mounted] = [join(folder.path, 'image'), join(folder.path, 'mounted')];
    await writeFile(image, '');
    await truncate(image, 128 << 20);
    await runOrFail(['mkfs.btrfs', '-q', image]);
    await mkdir(mounted);
    const script = 'mount -o loop "$1" "$2" && "$3" "$4" "$2"';
    const program = join(import.meta.dirname, 'write-on-btrfs.ts');
    const mounting = ['unshare', '--mount', 'sh', '-c', script, 'sh'];
    const { stdout } = await runOrFail([...mounting, image, mounted, process.execPath, program]);
    expect(JSON.parse(stdout)).toEqual({
      isEqual: true,
      isShared: true,
      mode: '640',
      outcomes: ['written', 'DIGEST_MISMATCH', 'SIZE_MISMATCH'],
      names: ['whole'],
    });
  },
);
