import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError } from '#bundles/errors';
import { VERSION } from '#bundles/version';
import { IMAGE } from './build-files.ts';
import { type ImagesOptions, PROGRAMS } from './build-images.ts';

export type PushOptions = {
  /** The folder with the OCI archives, of one architecture or several. */
  readonly files: string;
  /** Registry and path: ghcr.io/fleet-ferry */
  readonly prefix: string;
  readonly podman: ImagesOptions['podman'];
};

/**
 * Pushes each program's image as one list of the architectures that `files` has. @returns the names that were pushed
 * @throws FleetError IO if podman fails
 */
export const pushImages = async ({ files, prefix, podman }: PushOptions): Promise<readonly string[]> => {
  const run = async (words: readonly string[]): Promise<void> => {
    const { code, stderr } = await podman(words);
    if (code !== 0)
      throw new FleetError(
        'IO',
        `podman ${words.slice(0, 2).join(' ')} ended with ${code}: ${stderr.trim()}`,
      );
  };
  const names = (await readdir(files)).filter((name) => name.endsWith(IMAGE)).toSorted();
  const pushed: string[] = [];
  for (const program of PROGRAMS) {
    const archives = names.filter((name) => name.startsWith(`${program}_${VERSION}_`));
    if (archives.length === 0) continue;
    const list = `localhost/${program}-release:${VERSION}`;
    const name = `${prefix}/${program}:${VERSION}`;
    await podman(['manifest', 'rm', list]);
    await run(['manifest', 'create', list]);
    for (const archive of archives)
      await run(['manifest', 'add', list, `oci-archive:${join(files, archive)}`]);
    await run(['manifest', 'push', '--quiet', '--all', list, `docker://${name}`]);
    pushed.push(name);
  }
  return pushed;
};
