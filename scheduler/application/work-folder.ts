import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

/** A folder that a tool works in, gone when it is disposed of. */
export type WorkFolder = AsyncDisposable & {
  /** Holds exactly the files given. */
  readonly files: string;
  /** Empty. */
  readonly home: string;
};

/** @param files by path; none leads out of its folder, sources see to that */
export const workFolder = async (
  files: Iterable<readonly [string, Uint8Array]> = [],
): Promise<WorkFolder> => {
  const folder = await mkdtemp(join(tmpdir(), 'fleet-ferry-render-'));
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
