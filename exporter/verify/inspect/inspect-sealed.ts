import { stat } from 'node:fs/promises';
import { defined } from '#bundles/defined';
import {
  type Candidate,
  findNeighbours,
  findParts,
  openCandidate,
  readVolumeParts,
} from '#bundles/formats/medium/parts/find-parts';
import { PARTS_FILE, REPORTS_FOLDER, REQUESTS_FOLDER } from '#bundles/formats/medium/medium';
import { openPlainFiles } from '#bundles/formats/medium/open-directory';
import { parsePartName } from '#bundles/formats/medium/parts/part';
import type { Inspection, PartSeen } from './inspect-medium.ts';

/**
 * Lists sealed parts without an identity: their set, number, sizes and digests. The list is not signed; it only shows whether a part is
 * the same as another copy.
 */
export const inspectSealed = async (media: readonly string[]): Promise<Inspection> => {
  const sticks = await Promise.all(media.map(lookAt));
  const here = sticks.flatMap((stick) => stick.here);
  const list = sticks.find((stick) => stick.list)?.list;
  const numbers = new Set(here.map(({ number }) => number));
  const all = Array.from({ length: list?.count ?? 0 }, (_, index) => index + 1);
  return {
    path: media.join(', '),
    form: 'parts',
    filled: undefined,
    parts: {
      set: list?.set ?? setOf(here),
      count: list?.count,
      sealed: true,
      here,
      missing: all.filter((number) => !numbers.has(number)),
      damaged: [],
    },
    reports: sticks.flatMap(({ reports }) => reports),
    requests: sticks.flatMap(({ requests }) => requests),
  };
};

const lookAt = async (path: string) => {
  const isFolder = (await stat(path)).isDirectory();
  const found = isFolder ? await findParts(path) : await findNeighbours(path);
  const here: PartSeen[] = [];
  for (const candidate of found?.candidates ?? []) {
    const { path: file, number, listed } = candidate;
    const size = await sizeOfCandidate(candidate).catch(() => undefined);
    if (size !== undefined) here.push({ number, path: file, size, ...defined({ digest: listed?.digest }) });
  }
  const plain = isFolder ? openPlainFiles(path) : undefined;
  return {
    here,
    list: isFolder ? await readVolumeParts(path, PARTS_FILE) : undefined,
    reports: (await plain?.files(REPORTS_FOLDER)) ?? [],
    requests: (await plain?.files(REQUESTS_FOLDER)) ?? [],
  };
};

const sizeOfCandidate = async (candidate: Candidate): Promise<number> => {
  await using bytes = await openCandidate(candidate);
  return bytes.size;
};

/** The name of a copied file has the first digits of its set. */
const setOf = ([first]: readonly PartSeen[]): string | undefined =>
  first && parsePartName(first.path.slice(first.path.lastIndexOf('/') + 1))?.set;
