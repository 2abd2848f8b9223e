import { join } from 'node:path';
import { kindOfBytes, openCandidate, readStickParts } from '#bundles/medium/find-parts';
import { PARTS_FILE, PARTS_FOLDER, PROGRESS_FILE } from '#bundles/medium/medium';
import { parsePartName, shortSet } from '#bundles/medium/part';
import { namesIn } from '#bundles/medium/names-in';

/**
 * Parts in fleet/parts of other sets than the one that the stick holds, and than one that is being written.
 * @returns paths from the stick's root; none where nothing says which set counts
 */
export const oldParts = async (root: string, isFilled: boolean): Promise<readonly string[]> => {
  const lists = [await readStickParts(root, PARTS_FILE), await readStickParts(root, PROGRESS_FILE)];
  const wanted = new Set(lists.flatMap((list) => (list ? [shortSet(list.set)] : [])));
  // Copied by hand, they are the medium.
  if (wanted.size === 0 && !isFilled) return [];
  const old: string[] = [];
  for await (const name of namesIn(root, PARTS_FOLDER)) {
    const set = parsePartName(name)?.set;
    if (set === undefined || wanted.has(set)) continue;
    // A name alone makes no part.
    const file = `${PARTS_FOLDER}/${name}`;
    await using bytes = await openCandidate({ path: join(root, file), found: { root, file } });
    if ((await kindOfBytes(bytes)) !== 'other') old.push(file);
  }
  return old;
};
