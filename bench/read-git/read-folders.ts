/** One measured process of `bench read-git`: reads folders as a build reads them, eight or more at a time. Its argument is a Task as JSON. */
import { join } from 'node:path';
import type { openSources as Open } from '../../scheduler/load/sources/open-sources.ts';
import type { DirectoryMap } from '../../scheduler/model/location.ts';
import { inParallel } from '../../bundles/in-parallel.ts';

export type Task = {
  /** The checkout whose code reads. */
  readonly code: string;
  readonly cacheDirectory: string;
  readonly maps: readonly DirectoryMap[];
  /** Folders of Git repositories or of directories. */
  readonly folders: readonly { readonly repo: string; readonly path: string }[];
  readonly width: number;
};

const { code, cacheDirectory, maps, folders, width } = JSON.parse(process.argv[2] as string) as Task;
const { openSources } = (await import(join(code, 'scheduler/load/sources/open-sources.ts'))) as {
  readonly openSources: typeof Open;
};
const sources = openSources({ maps, cacheDirectory, env: process.env });
const read = await inParallel(folders, width, ({ repo, path }) => {
  const location = sources.locate(repo, { kind: 'head' });
  return sources.read({ role: `workload/${path}`, location, path });
});
process.stdout.write(`${read.reduce((sum, { files }) => sum + files.length, 0)}\n`);
