import { compareBytes } from '#bundles/digest';
import {
  CHUNKS_FOLDER,
  type OpenMedium,
  PARTS_FILE,
  PARTS_FOLDER,
  PROGRESS_FILE,
  RECEIPTS_FOLDER,
  REPORTS_FOLDER,
  REQUESTS_FOLDER,
} from '#bundles/formats/medium/medium';
import { namesIn } from '#bundles/formats/medium/names-in';
import { sizeOf } from '#bundles/formats/medium/plain-files';
import type { AgentsOf } from '../../source/base/site-agents.ts';
import { acknowledgedReports } from './acknowledged-reports.ts';
import { answeredNeeds } from './answered-needs.ts';
import type { Leftover, Leftovers } from './leftover.ts';
import { TEMPORARY } from '../../plan/medium/own-names.ts';
import { join } from 'node:path';
import { kindOfBytes, openCandidate, readVolumeParts } from '#bundles/formats/medium/parts/find-parts';
import { parsePartName, shortSet } from '#bundles/formats/medium/parts/part';

/** Folders in which this program and agents write temporary files. */
const FOLDERS = ['', 'fleet', 'blobs/sha256', CHUNKS_FOLDER, PARTS_FOLDER, REQUESTS_FOLDER, RECEIPTS_FOLDER];

/**
 * Finds useless files on a medium. Reads only our folders and considers only names of our form.
 * @param agentsOf agents whose receipts count; undefined: unknown, so that all reports and needs are kept
 */
export const findLeftovers = async (
  medium: OpenMedium,
  agentsOf: AgentsOf | undefined,
  signal?: AbortSignal,
): Promise<Leftovers> => {
  const files: Leftover[] = [];
  const notes: string[] = [];
  const add = async (root: string, path: string, why: string): Promise<void> => {
    signal?.throwIfAborted();
    // Unreadable entries and entries that are not files are kept.
    const size = await sizeOf(root, path).catch(() => undefined);
    if (size !== undefined) files.push({ root, path, bytes: size, why });
  };
  const onEach = async (path: string, why: string): Promise<void> => {
    for (const root of medium.roots) await add(root, path, why);
  };
  for (const root of medium.roots) {
    for (const path of await temporaryFiles(root, medium))
      await add(root, path, 'left by a run that was killed');
    for (const path of await oldParts(root, medium.form === 'directory' && medium.medium !== undefined))
      await add(root, path, 'a part of an earlier set');
  }
  if (!agentsOf) {
    notes.push('reports and needs stay: give --root-sha256 or --from, so that receipts can be verified');
    return { files: sorted(files), notes };
  }
  const acknowledged = await acknowledgedReports(medium, agentsOf);
  notes.push(...acknowledged.notes);
  for (const { path, endings, agent, upTo } of acknowledged.reports)
    for (const ending of endings)
      await onEach(`${path}.${ending}`, `the hub has the events of ${agent} up to ${upTo}`);
  for (const path of await answeredNeeds(medium, agentsOf))
    await onEach(path, 'the agent has reported since that it has these blobs');
  return { files: sorted(files), notes };
};

const temporaryFiles = async (root: string, medium: OpenMedium): Promise<readonly string[]> => {
  const folders = [...FOLDERS, ...(await reportFolders(root, medium))];
  const found: string[] = [];
  for (const folder of folders)
    for await (const name of namesIn(root, folder))
      if (TEMPORARY.test(name)) found.push(folder === '' ? name : `${folder}/${name}`);
  return found;
};

/** The folder of an agent that was killed during its first export holds only temporary files. */
const reportFolders = async (root: string, medium: OpenMedium): Promise<readonly string[]> => {
  const known = (await medium.files(REPORTS_FOLDER)).map((path) => path.slice(0, path.lastIndexOf('/')));
  return [...new Set(known)].filter((folder) => /^fleet\/reports\/[0-9a-f]{32}$/.test(folder) && root !== '');
};

const sorted = (files: readonly Leftover[]): readonly Leftover[] =>
  files.toSorted((a, b) => compareBytes(a.root, b.root) || compareBytes(a.path, b.path));

/**
 * Finds parts in fleet/parts that belong neither to the set of the volume nor to one being written.
 * @returns paths relative to the volume; empty if the current set is unknown
 */
const oldParts = async (root: string, isFilled: boolean): Promise<readonly string[]> => {
  const lists = [await readVolumeParts(root, PARTS_FILE), await readVolumeParts(root, PROGRESS_FILE)];
  const wanted = new Set(lists.flatMap((list) => (list ? [shortSet(list.set)] : [])));
  // Without a list, parts that were copied by hand are the medium.
  if (wanted.size === 0 && !isFilled) return [];
  const old: string[] = [];
  for await (const name of namesIn(root, PARTS_FOLDER)) {
    const set = parsePartName(name)?.set;
    if (set === undefined || wanted.has(set)) continue;
    // The name alone does not prove that the file is a part.
    const file = `${PARTS_FOLDER}/${name}`;
    await using bytes = await openCandidate({ path: join(root, file), found: { root, file } });
    if ((await kindOfBytes(bytes)) !== 'other') old.push(file);
  }
  return old;
};
