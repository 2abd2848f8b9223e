import { mkdir, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createTemporaryFolder } from '#bundles/temporary-folder';

/** A working folder of a tool, deleted on disposal. */
export type WorkFolder = AsyncDisposable & {
  /** A folder with exactly the given files. */
  readonly files: string;
  /** An empty folder. */
  readonly home: string;
};

/** @param files by path; the sources have checked that no path leads outside */
export const workFolder = async (
  files: Iterable<readonly [string, Uint8Array]> = [],
): Promise<WorkFolder> => {
  const folder = await createTemporaryFolder('fleet-ferry-render-');
  const work = { files: join(folder, 'files'), home: join(folder, 'home') };
  await mkdir(work.files);
  await mkdir(work.home);
  for (const [path, bytes] of files) {
    const file = join(work.files, path);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, bytes);
  }
  return {
    ...work,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true, maxRetries: 3 }),
  };
};
