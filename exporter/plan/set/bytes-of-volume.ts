import { digestOf } from '#bundles/digest';
import { PARTS_FILE } from '#bundles/formats/medium/medium';
import { partPath, type VolumePart } from '#bundles/formats/medium/parts/part';
import { sizeOf } from '#bundles/formats/medium/plain-files';
import { type SetSizes, volumeParts } from './set-layout.ts';
import { listBytes, readLists, SUMS_FILE, sumsOf } from '../medium/volume-lists.ts';
import { type BytesToWrite, filesToWrite } from '../bytes-to-write.ts';
import type { Plan } from '../plan.ts';

/**
 * Bytes of one volume of a set: its parts, its lists, and the receipts. An existing part is recognised by its size; create also
 * reads it.
 * @param root undefined when the volume is not available; it then counts as empty
 */
export const bytesOfVolume = async (
  { files }: Pick<Plan, 'files'>,
  sizes: SetSizes,
  parts: SetSizes['parts'],
  root: string | undefined,
): Promise<BytesToWrite> => {
  const recorded = root === undefined ? [] : await recordedParts(root, sizes);
  const listed: VolumePart[] = [];
  let toWrite = 0;
  for (const { number, size } of parts) {
    const path = partPath(sizes.set, number, sizes.sealed);
    const one = recorded.find((it) => it.number === number && it.path === path);
    const isPresent = one && (await sizeAt(root ?? '', path)) === one.size;
    listed.push(isPresent ? one : { number, path, size, digest: digestOf('') });
    if (!isPresent) toWrite += size;
  }
  const lists = [
    { path: SUMS_FILE, bytes: sumsOf(listed) },
    { path: PARTS_FILE, bytes: listBytes(volumeParts(sizes, listed)) },
  ];
  const beside = sizes.sealed ? [] : files;
  toWrite += await filesToWrite(root, lists, beside);
  const all = listed.reduce((total, { size }) => total + size, await filesToWrite(undefined, lists, beside));
  return { toWrite, there: all - toWrite };
};

const recordedParts = async (root: string, sizes: SetSizes): Promise<readonly VolumePart[]> => {
  const { done, begun } = await readLists(root);
  return [begun, done].flatMap((list) =>
    list?.set === sizes.set && list.sealed === sizes.sealed && list.sealedTo === sizes.sealedTo
      ? list.parts
      : [],
  );
};

/** undefined on errors, which create reports. */
const sizeAt = (root: string, path: string): Promise<number | undefined> =>
  sizeOf(root, path).catch(() => undefined);
