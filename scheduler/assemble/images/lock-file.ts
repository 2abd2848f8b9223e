import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Document, isMap, parseDocument, YAMLMap } from 'yaml';
import { compareBytes } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import { unlessMissing } from '#bundles/unless-missing';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { isChartKey } from '../../load/charts/charts.ts';
import { formatAttachment } from '../../model/images/attachment.ts';
import type { LockedAttachments } from './lock-attachments.ts';
import type { LockedImage } from './image-lock.ts';

/** File beside fleet.yaml; an existing file with the other extension is used. */
const FILES = ['images.lock.yaml', 'images.lock.yml'] as const;

export const EMPTY = `# What every image tag in this platform means. A tag that is not here is refused: bundles name digests only.
apiVersion: fleet-ferry/v1alpha1
kind: ImagesLock
metadata:
  name: images
spec:
  images: {}
`;

/** Returns the text of a lock file with these images. Comments, order and spelling stay; new entries are appended, sorted. */
export const formatLock = (
  text: string | undefined,
  locked: readonly LockedImage[],
  attachments: readonly LockedAttachments[],
  file: string,
  renderers: ReadonlyMap<string, string> = new Map(),
): string => {
  const document = parseDocument(text ?? EMPTY);
  const images = sectionOf(document, 'images', file);
  write(
    document,
    images,
    locked.filter(({ image }) => !isChartKey(image)),
  );
  const indexes = locked.flatMap(({ after, index }) =>
    index === undefined ? [] : [[after.slice(after.lastIndexOf('@') + 1), index] as const],
  );
  if (indexes.length > 0) writeDigests(document, sectionOf(document, 'indexes', file), indexes);
  const platforms = locked.flatMap((one) =>
    one.platforms === undefined
      ? []
      : [[one.after.slice(one.after.lastIndexOf('@') + 1), one.platforms] as const],
  );
  if (platforms.length > 0) writeDigests(document, sectionOf(document, 'platforms', file), platforms);
  if (attachments.length > 0)
    writeAttachments(document, sectionOf(document, 'attachments', file), attachments);
  const charts = locked.filter(({ image }) => isChartKey(image));
  if (charts.length > 0) write(document, sectionOf(document, 'charts', file), charts);
  if (renderers.size > 0) writeDigests(document, sectionOf(document, 'renderers', file), [...renderers]);
  return document.toString({ lineWidth: 0 });
};

const write = (document: Document, section: YAMLMap, locked: readonly LockedImage[]): void => {
  const fresh = locked.filter(({ before }) => before === undefined);
  for (const { image, after } of locked.filter(
    ({ before, after }) => before !== undefined && before !== after,
  ))
    section.set(image, after);
  for (const { image, after } of fresh.toSorted((a, b) => compareBytes(a.image, b.image)))
    section.set(document.createNode(image), document.createNode(after));
  if (section.items.length > 0) section.flow = false;
};

/** By the locked manifest. Entries of manifests that no image uses any more have no effect. */
const writeDigests = (
  document: Document,
  section: YAMLMap,
  facts: readonly (readonly [string, string | readonly string[]])[],
): void => {
  for (const [manifest, fact] of facts.toSorted(([a], [b]) => compareBytes(a, b)))
    section.set(document.createNode(manifest), document.createNode(fact, { flow: true }));
  section.flow = false;
};

/** One line for each attachment, so that an added signature is one added line. */
const writeAttachments = (
  document: Document,
  section: YAMLMap,
  changed: readonly LockedAttachments[],
): void => {
  for (const { image, attachments } of changed.toSorted((a, b) => compareBytes(a.image, b.image))) {
    if (attachments)
      section.set(document.createNode(image), document.createNode(attachments.map(formatAttachment)));
    else section.delete(image);
  }
  section.flow = section.items.length === 0;
};

/** The map to write into, created if it does not exist. @throws FleetError PLATFORM_INVALID */
export const sectionOf = (
  document: Document,
  section: 'images' | 'charts' | 'indexes' | 'platforms' | 'attachments' | 'files' | 'debs' | 'renderers',
  file: string,
): YAMLMap => {
  const found = document.getIn(['spec', section], true);
  if (isMap(found)) return found;
  if (document.errors.length > 0 || document.get('kind') !== 'ImagesLock') {
    throw new FleetError(
      'PLATFORM_INVALID',
      'this file is not one ImagesLock, so nothing can be added to it',
      {
        at: { file },
        hint: 'Correct it, or move it away: then a new one is written',
      },
    );
  }
  const made = new YAMLMap(document.schema);
  document.setIn(['spec', section], made);
  return made;
};

/** @returns the file that was written; undefined if nothing changed @throws FleetError PERMISSION, DISK_FULL ... */
export const updateLockFile = async (
  directory: string,
  locked: readonly LockedImage[],
  attachments: readonly LockedAttachments[] = [],
  renderers: ReadonlyMap<string, string> = new Map(),
): Promise<string | undefined> => {
  const { file, text } = await findLock(directory);
  // Lock files of versions without image policies have no indexes.
  const isUnnoted = (index: string | undefined): boolean => index !== undefined && !text?.includes(index);
  const changed = locked.filter(
    ({ before, after, index, platforms }) => before !== after || platforms !== undefined || isUnnoted(index),
  );
  if (changed.length + attachments.length + renderers.size === 0) return undefined;
  try {
    await writeFileAtomically(file, Buffer.from(formatLock(text, changed, attachments, file, renderers)));
  } catch (error) {
    throw toFleetError(error, `writing ${file}`);
  }
  return file;
};

/** The lock file beside a platform, with its content. */
export const findLock = async (
  directory: string,
): Promise<{ readonly file: string; readonly text: string | undefined }> => {
  for (const name of FILES) {
    const file = join(directory, name);
    const text = await unlessMissing(readFile(file, 'utf8'), `reading ${file}`);
    if (text !== undefined) return { file, text };
  }
  return { file: join(directory, FILES[0]), text: undefined };
};
