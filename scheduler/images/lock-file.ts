import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Document, isMap, parseDocument, YAMLMap } from 'yaml';
import { compareBytes } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import { writeFileAtomically } from '#bundles/layout/write-file';
import type { LockedImage } from './lock-images.ts';

/** Beside fleet.yaml; the other spelling is taken where it is there. */
const FILES = ['images.lock.yaml', 'images.lock.yml'] as const;

const EMPTY = `# What every image tag in this platform means. A tag that is not here is refused: bundles name digests only.
apiVersion: fleet-ferry/v1alpha1
kind: ImagesLock
metadata:
  name: images
spec:
  images: {}
`;

/** The text of a lock file with these images in it. Comments, order and spelling stay; new ones are put behind, sorted. */
export const formatLock = (
  text: string | undefined,
  locked: readonly LockedImage[],
  file: string,
): string => {
  const document = parseDocument(text ?? EMPTY);
  const images = imagesOf(document, file);
  const fresh = locked.filter(({ before }) => before === undefined);
  for (const { image, after } of locked.filter(
    ({ before, after }) => before !== undefined && before !== after,
  ))
    images.set(image, after);
  for (const { image, after } of fresh.toSorted((a, b) => compareBytes(a.image, b.image)))
    images.set(document.createNode(image), document.createNode(after));
  images.flow = false;
  return document.toString({ lineWidth: 0 });
};

/** The map to write into; made where the file has none yet. @throws FleetError PLATFORM_INVALID */
const imagesOf = (document: Document, file: string): YAMLMap => {
  const images = document.getIn(['spec', 'images'], true);
  if (isMap(images)) return images;
  if (document.errors.length > 0 || document.get('kind') !== 'ImagesLock') {
    throw new FleetError(
      'PLATFORM_INVALID',
      'this file is not one ImagesLock, so nothing can be added to it',
      {
        at: { file },
        hint: 'Mend it, or move it away: then a new one is written',
      },
    );
  }
  const made = new YAMLMap(document.schema);
  document.setIn(['spec', 'images'], made);
  return made;
};

/** @returns the file that was written, or undefined where nothing changed @throws FleetError PERMISSION, DISK_FULL ... */
export const updateLockFile = async (
  directory: string,
  locked: readonly LockedImage[],
): Promise<string | undefined> => {
  const changed = locked.filter(({ before, after }) => before !== after);
  if (changed.length === 0) return undefined;
  const { file, text } = await findLock(directory);
  try {
    await writeFileAtomically(file, Buffer.from(formatLock(text, changed, file)));
  } catch (error) {
    throw toFleetError(error, `writing ${file}`);
  }
  return file;
};

const findLock = async (
  directory: string,
): Promise<{ readonly file: string; readonly text: string | undefined }> => {
  for (const name of FILES) {
    const file = join(directory, name);
    try {
      return { file, text: await readFile(file, 'utf8') };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw toFleetError(error, `reading ${file}`);
    }
  }
  return { file: join(directory, FILES[0]), text: undefined };
};
