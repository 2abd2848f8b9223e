import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Digest, digestOf } from '#bundles/digest';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { markUsed } from '../sources/cache-use.ts';
import type { FetchChart } from './charts.ts';

/**
 * Caches archives by digest on disk, so that a chart which was fetched before needs no network.
 * @param directory the scheduler's cache @param fetch called for an archive that is not cached
 */
export const cachedCharts =
  (directory: string, fetch: FetchChart): FetchChart =>
  async (reference, digest, signal) => {
    const folder = join(directory, 'charts');
    const file = join(folder, fileName(digest));
    const known = (await markUsed(directory, file)) ? await readFile(file).catch(() => undefined) : undefined;
    if (known && digestOf(known) === digest) return known;
    const fetched = Buffer.from(await fetch(reference, digest, signal));
    if (digestOf(fetched) !== digest) return fetched;
    await createDirectory(folder);
    await writeFileAtomically(file, fetched);
    return fetched;
  };

const fileName = (digest: Digest): string => `${digest.slice('sha256:'.length)}.tgz`;
