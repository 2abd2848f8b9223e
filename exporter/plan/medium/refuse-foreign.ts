import { open, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { BLOCK, encodeHeader } from '#bundles/formats/archive/tar-header';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { hexOf } from '#bundles/digest';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { unlessMissing } from '#bundles/unless-missing';
import { layoutMarker, openLayout, referenceOf } from '#bundles/formats/layout/layout';
import { readVolumeParts } from '#bundles/formats/medium/parts/find-parts';
import { type Kind, lookAt } from '#bundles/formats/medium/kind-of';
import { readOptional } from '#bundles/formats/medium/plain-files';
import {
  MEDIUM_FILE,
  PARTS_FILE,
  PARTS_FOLDER,
  PROGRESS_FILE,
  RECEIPTS_FOLDER,
} from '#bundles/formats/medium/medium';
import { isLock, LOCK } from './lock-file.ts';
import { PARTIAL } from './resume-tar.ts';
import { SUMS_FILE } from './volume-lists.ts';
import { OWN_FILES, TEMPORARY } from './own-names.ts';

const FOLDERS = ['fleet', 'blobs', PARTS_FOLDER, RECEIPTS_FOLDER, ...OWN_FILES.map(([folder]) => folder)];
const FILES = ['oci-layout', 'index.json', MEDIUM_FILE, PARTS_FILE, PROGRESS_FILE, SUMS_FILE];

/**
 * Checks before the first change of a medium that entries with our names were written by this program, as far as that is visible. Other
 * names are ignored.
 * @throws FleetError MEDIUM_INVALID, PERMISSION, IO
 */
export const refuseForeign = async (root: string): Promise<void> => {
  await namesOfKind(root, FOLDERS, 'folder');
  const there = await namesOfKind(root, FILES, 'file');
  const isBegun = await isLock(join(root, 'fleet', LOCK));
  if (there.has(PROGRESS_FILE)) await refuseOtherList(root);
  if (there.has(MEDIUM_FILE)) await refuseOtherImages(root);
  if (isBegun) return;
  const [taken] = await foreignNames(root, there);
  if (taken !== undefined) throw foreignFileError(join(root, taken), 'was not written by this program');
};

/** Returns which of the names exist. @throws FleetError MEDIUM_INVALID if one of them is something else than `wanted` */
const namesOfKind = async (
  root: string,
  names: readonly string[],
  wanted: 'folder' | 'file',
): Promise<ReadonlySet<string>> => {
  const there = new Set<string>();
  for (const name of names) {
    const kind = await kindAt(join(root, name));
    if (kind === undefined) continue;
    if (kind !== wanted) throw foreignFileError(join(root, name), `is a ${kind}, not a ${wanted}`);
    there.add(name);
  }
  return there;
};

/** Entries that cannot be ours on a medium that this program has not begun: nothing shows that it wrote here, or only some can be its own. */
const foreignNames = async (root: string, there: ReadonlySet<string>): Promise<readonly string[]> => {
  const isSet = there.has(PARTS_FILE) || there.has(PROGRESS_FILE);
  const isFolder = there.has(MEDIUM_FILE);
  return [
    ...(there.has(SUMS_FILE) && !isSet ? [SUMS_FILE] : []),
    ...(there.has('oci-layout') && !(await isMarker(root)) ? ['oci-layout'] : []),
    ...(there.has('index.json') && isSet && !isFolder ? ['index.json'] : []),
    ...(isFolder ? [] : await underNames(root, OWN_FILES)),
    ...(isFolder || isSet ? [] : await underNames(root, HALVES)),
  ];
};

const HALVES = ['', 'fleet', PARTS_FOLDER, RECEIPTS_FOLDER, ...OWN_FILES.map(([folder]) => folder)].map(
  (folder) => [folder, TEMPORARY] as const,
);

/** True if our progress file exists. It is written atomically, so it is never partial. */
const refuseOtherList = async (root: string): Promise<void> => {
  try {
    await readVolumeParts(root, PROGRESS_FILE);
  } catch (error) {
    if (!isFleetError(error) || error.exitCode !== 4) throw error;
    throw foreignFileError(join(root, PROGRESS_FILE), 'was not written by this program');
  }
};

/**
 * The same check for the partial file beside a tar.
 * @throws FleetError MEDIUM_INVALID, PERMISSION, IO
 */
export const refuseForeignBeside = async (tar: string): Promise<void> => {
  await isLock(`${tar}${LOCK}`);
  const partial = `${tar}${PARTIAL}`;
  const kind = await kindAt(partial);
  if (kind === undefined) return;
  if (kind !== 'file') throw foreignFileError(partial, `is a ${kind}, not a file`);
  const size = layoutMarker().byteLength;
  const first = encodeHeader({ name: 'oci-layout', prefix: '', size, mode: 0o644, directory: false });
  try {
    await using handle = await open(partial, 'r');
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(BLOCK), 0, BLOCK, 0);
    // A run may have been killed at any point, even before the first byte.
    if (buffer.subarray(0, bytesRead).equals(first.subarray(0, bytesRead))) return;
  } catch (error) {
    throw toFleetError(error, `reading ${partial}`);
  }
  throw foreignFileError(partial, 'was not written by this program');
};

/** Refuses an index.json with entries of other tools, which would be lost. */
const refuseOtherImages = async (root: string): Promise<void> => {
  const manifests = await openLayout(root, readOptional).then(
    (layout) => layout.manifests,
    (error: unknown): readonly Descriptor[] => {
      // A damaged file is replaced.
      if (isFleetError(error)) return [];
      throw toFleetError(error, `reading ${root}`);
    },
  );
  const other = manifests.find(
    (one) => !/^[^:]+:[bi]-/.test(referenceOf(one) ?? '') || !isNamedByDigest(one),
  );
  if (other === undefined) return;
  const name = referenceOf(other) ?? hexOf(other.digest);
  throw foreignFileError(join(root, 'index.json'), `names ${name}, which was not written by this program`);
};

const isNamedByDigest = (one: Descriptor): boolean =>
  referenceOf(one)?.endsWith(`-${hexOf(one.digest)}`) ?? false;

const isMarker = async (root: string): Promise<boolean> =>
  readFile(join(root, 'oci-layout')).then(
    (bytes) => bytes.equals(layoutMarker()),
    (error: unknown) => {
      throw toFleetError(error, `reading ${join(root, 'oci-layout')}`);
    },
  );

/** Files with names of our form, which are removed if no medium names them. */
const underNames = async (root: string, names: typeof OWN_FILES): Promise<readonly string[]> => {
  const found: string[] = [];
  for (const [folder, pattern] of names) {
    const path = join(root, folder);
    const there = (await unlessMissing(readdir(path), `listing ${path}`)) ?? [];
    found.push(...there.filter((name) => pattern.test(name)).map((name) => join(folder, name)));
  }
  return found;
};

const kindAt = async (path: string): Promise<Kind | undefined> => {
  const found = await lookAt(path).catch((error: unknown) => {
    throw toFleetError(error, `looking at ${path}`);
  });
  return found?.kind;
};

const foreignFileError = (path: string, why: string): FleetError =>
  new FleetError('MEDIUM_INVALID', `${path} ${why}`, {
    hint: 'Move it away, or use another stick or folder; nothing was changed',
  });
