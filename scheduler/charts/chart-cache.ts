import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Digest, digestOf } from '#bundles/digest';
import { makeDirectory } from '#bundles/layout/make-directory';
import { writeFileAtomically } from '#bundles/layout/write-file';
import type { FetchChart } from './charts.ts';

/**
 * Archives by their digest in a folder that outlives the run: a chart that was fetched once needs no network again.
 * @param directory the scheduler's cache @param fetch asked for what is not there
 */
export const cachedCharts =
  (directory: string, fetch: FetchChart): FetchChart =>
  async (reference, digest, signal) => {
    const folder = join(directory, 'charts');
    const file = join(folder, fileName(digest));
    const known = await readFile(file).catch(() => undefined);
    if (known && digestOf(known) === digest) return known;
    const fetched = Buffer.from(await fetch(reference, digest, signal));
    if (digestOf(fetched) !== digest) return fetched;
    await makeDirectory(folder);
    await writeFileAtomically(file, fetched);
    return fetched;
  };

const fileName = (digest: Digest): string => `${digest.slice('sha256:'.length)}.tgz`;
