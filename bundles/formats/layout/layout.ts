import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { type Descriptor, type ImageIndex, parseManifest } from './manifest.ts';
import { canonicalBytes, canonicalJson } from '../../json/canonical.ts';
import { compareBytes } from '../../digest.ts';
import { FleetError, toFleetError } from '../../errors.ts';
import { OCI_INDEX, REF_NAME } from '../../media-types.ts';
import { parseStrictJson } from '../../json/strict-json.ts';
import { readRegularFile } from '../archive/read-regular-file.ts';
import { type BlobDirectory, openBlobDirectory } from './blob-directory.ts';
import { writeFileAtomically } from './write-file.ts';

/** An OCI image layout on disk (OCI image spec, "image layout"): `build` writes it, `fleet-export` reads it. */
export type Layout = {
  readonly directory: string;
  readonly blobs: BlobDirectory;
  /** Entries of index.json. */
  readonly manifests: readonly Descriptor[];
};

/** The index names all releases since the start: some megabytes for a hundred channels after some years. */
const MAX_INDEX_BYTES = 64 << 20;

const LAYOUT_FILE = '{"imageLayoutVersion":"1.0.0"}';

/** References look like 'prod/kiosk:release': repository, colon, tag. */
export const layoutReference = (repository: string, tag: string): string => `${repository}:${tag}`;

/** Reads one of the two files of a layout; undefined when it does not exist. */
type ReadFile = (directory: string, file: string) => Promise<Buffer | undefined>;

/**
 * @param read replaces the default reader for an untrusted layout
 * @throws FleetError MEDIUM_MISSING when a file is missing, LAYOUT_INVALID, TOO_LARGE, BAD_JSON, TOO_DEEP
 */
export const openLayout = async (directory: string, read: ReadFile = readOptional): Promise<Layout> => {
  const file = read === readOptional ? await identify(join(directory, 'index.json')) : undefined;
  const known = lastReads.get(directory);
  if (file !== undefined && known?.file === file)
    return { directory, blobs: layoutBlobs(directory), manifests: known.manifests };
  const [marker, index] = await Promise.all([read(directory, 'oci-layout'), read(directory, 'index.json')]);
  if (!marker || !index) {
    throw new FleetError(
      'MEDIUM_MISSING',
      `${directory} is not an OCI layout: it has no ${marker ? 'index.json' : 'oci-layout'}`,
      { hint: 'Check the path of the folder. fleet-scheduler build writes a layout of releases' },
    );
  }
  const version = (
    parseStrictJson(marker, { maxBytes: 4096 }, 'oci-layout') as { imageLayoutVersion?: unknown } | null
  )?.imageLayoutVersion;
  if (version !== '1.0.0') {
    throw new FleetError(
      'LAYOUT_INVALID',
      `${directory} says layout version ${JSON.stringify(version)}, only 1.0.0 is known`,
    );
  }
  return { directory, blobs: blobsOf(directory, read), manifests: readIndex(directory, index, file) };
};

/** The blobs of a layout. Sizes and small blobs are read without the thread pool where the layout is on a disk of this machine. */
export const layoutBlobs = (directory: string): BlobDirectory =>
  openBlobDirectory(directory, directory, 'direct');

const blobsOf = (directory: string, read: ReadFile): BlobDirectory =>
  read === readOptional ? layoutBlobs(directory) : openBlobDirectory(directory);

type LastRead = {
  readonly bytes: Buffer;
  readonly manifests: readonly Descriptor[];
  /** From before the bytes were read. */
  readonly file: string | undefined;
};

/** The indexes that were read or written last, by directory: a hub needs the same megabytes for every question, a build those of its two layouts. */
const lastReads = new Map<string, LastRead>();
const MAX_LAST_READS = 2;

const readIndex = (directory: string, bytes: Buffer, file?: string): readonly Descriptor[] => {
  const known = lastReads.get(directory);
  const manifests = known?.bytes.equals(bytes) ? known.manifests : parseIndex(directory, bytes);
  remember(directory, { bytes, manifests, file });
  return manifests;
};

const remember = (directory: string, index: LastRead): void => {
  // The order of a Map is that of its additions.
  lastReads.delete(directory);
  lastReads.set(directory, index);
  for (const oldest of [...lastReads.keys()].slice(0, -MAX_LAST_READS)) lastReads.delete(oldest);
};

/** A file that is replaced gets another inode, and one that is written another time. undefined: it cannot be read. */
const identify = async (path: string): Promise<string | undefined> => {
  try {
    const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
    return [dev, ino, size, mtimeNs, ctimeNs].join(' ');
  } catch {
    return undefined;
  }
};

const parseIndex = (directory: string, bytes: Buffer): readonly Descriptor[] => {
  const file = join(directory, 'index.json');
  try {
    const parsed = parseManifest(bytes, file, MAX_INDEX_BYTES);
    if ('manifests' in parsed) return parsed.manifests;
    throw new FleetError('LAYOUT_INVALID', `${file} is not an index`);
  } catch (error) {
    if (!(error instanceof FleetError) || error.hint !== undefined) throw error;
    throw new FleetError(error.code, error.message, {
      subject: error.subject,
      cause: error,
      hint: 'It is damaged; restore the last copy of it',
    });
  }
};

/**
 * Opens the layout, or an empty one in memory when the folder does not exist or has no layout.
 * @throws FleetError LAYOUT_INVALID when only index.json is missing: starting over would number releases from 1 again
 */
export const openOrStartLayout = async (
  directory: string,
  read: ReadFile = readOptional,
): Promise<Layout> => {
  try {
    return await openLayout(directory, read);
  } catch (error) {
    if (!(error instanceof FleetError && error.code === 'MEDIUM_MISSING')) throw error;
  }
  const empty: Layout = { directory, blobs: blobsOf(directory, read), manifests: [] };
  const [marker, index] = await Promise.all([read(directory, 'oci-layout'), read(directory, 'index.json')]);
  if (index) return { ...empty, manifests: readIndex(directory, index) };
  if (!marker) return empty;
  throw new FleetError(
    'LAYOUT_INVALID',
    `${directory} has lost its index.json, which names all that is in it`,
    {
      hint: 'Restore the last copy of index.json; if nothing from here was ever published, remove the folder',
    },
  );
};

/** Bytes of the index. Entries are sorted by reference, then digest, so that they do not depend on the order of work. */
export const encodeIndex = (manifests: readonly Descriptor[]): Buffer => encodeSorted(sortEntries(manifests));

const sortEntries = (manifests: readonly Descriptor[]): readonly Descriptor[] =>
  manifests.toSorted(
    (a, b) => compareBytes(referenceOf(a) ?? '', referenceOf(b) ?? '') || compareBytes(a.digest, b.digest),
  );

const encodeSorted = (manifests: readonly Descriptor[]): Buffer => {
  const index: ImageIndex = { schemaVersion: 2, mediaType: OCI_INDEX, manifests: [] };
  const [start, end] = canonicalJson(index).split('[]');
  return Buffer.from(`${start}[${manifests.map(encodeEntry).join(',')}]${end}`);
};

/** Kept, because a change of one site writes the entries of all others again. */
const encodeEntry = (descriptor: Descriptor): string => {
  const known = encoded.get(descriptor);
  if (known !== undefined) return known;
  // V8 keeps text that was put together as a tree of its pieces, which takes ten times as long to join.
  const text = canonicalBytes(descriptor).toString();
  encoded.set(descriptor, text);
  return text;
};

const encoded = new WeakMap<Descriptor, string>();

/**
 * Writes the index, after all blobs that it names, and then the marker. A layout with a marker and no index was therefore
 * damaged, not interrupted.
 */
export const writeLayoutIndex = async (layout: Layout, manifests: readonly Descriptor[]): Promise<Layout> => {
  const sorted = sortEntries(manifests);
  const bytes = encodeSorted(sorted);
  try {
    await writeFileAtomically(join(layout.directory, 'index.json'), bytes);
  } catch (error) {
    throw toFleetError(error, `writing to ${layout.directory}`);
  }
  // The next read finds these bytes and need not parse them.
  remember(layout.directory, { bytes, manifests: sorted, file: undefined });
  await writeMarker(layout.directory);
  return { ...layout, manifests };
};

/** Writes the marker of a layout that has an index and no marker: the process that started it ended between the two. */
export const completeLayout = async (directory: string): Promise<void> => {
  if (await readOptional(directory, 'oci-layout')) return;
  if (await readOptional(directory, 'index.json')) await writeMarker(directory);
};

const writeMarker = async (directory: string): Promise<void> => {
  try {
    await writeFileAtomically(join(directory, 'oci-layout'), layoutMarker());
  } catch (error) {
    throw toFleetError(error, `writing to ${directory}`);
  }
};

export const layoutMarker = (): Buffer => Buffer.from(LAYOUT_FILE);

export const referenceOf = (descriptor: Descriptor): string | undefined => descriptor.annotations?.[REF_NAME];

/** The entry with this reference; of several the first. */
export const findReference = ({ manifests }: Layout, reference: string): Descriptor | undefined => {
  const known = byReference.get(manifests) ?? indexReferences(manifests);
  byReference.set(manifests, known);
  return known.get(reference);
};

/** The entries of a repository, by the part of their references before the colon. */
export const entriesOf = (
  { manifests }: Pick<Layout, 'manifests'>,
  repository: string,
): readonly Descriptor[] => {
  const known = byRepository.get(manifests) ?? Map.groupBy(manifests, (one) => repositoryOf(one));
  byRepository.set(manifests, known);
  return known.get(repository) ?? NO_ENTRIES;
};

const NO_ENTRIES: readonly Descriptor[] = [];

const repositoryOf = (descriptor: Descriptor): string => {
  const reference = referenceOf(descriptor) ?? '';
  return reference.slice(0, reference.lastIndexOf(':'));
};

const byRepository = new WeakMap<readonly Descriptor[], ReadonlyMap<string, readonly Descriptor[]>>();

const byReference = new WeakMap<readonly Descriptor[], ReadonlyMap<string, Descriptor>>();

const indexReferences = (manifests: readonly Descriptor[]): ReadonlyMap<string, Descriptor> => {
  const known = new Map<string, Descriptor>();
  for (const descriptor of manifests) {
    const reference = referenceOf(descriptor);
    if (reference !== undefined && !known.has(reference)) known.set(reference, descriptor);
  }
  return known;
};

/** Returns the list with `descriptor` under `reference` in place of an earlier entry with that reference. */
export const withReference = (
  manifests: readonly Descriptor[],
  reference: string,
  descriptor: Descriptor,
): readonly Descriptor[] => withReferences(manifests, new Map([[reference, descriptor]]));

/** The same for many. @param references descriptors by reference */
export const withReferences = (
  manifests: readonly Descriptor[],
  references: ReadonlyMap<string, Descriptor>,
): readonly Descriptor[] => [
  ...manifests.filter((entry) => !references.has(referenceOf(entry) ?? '')),
  ...[...references].map(([reference, descriptor]) => ({
    ...descriptor,
    annotations: { ...descriptor.annotations, [REF_NAME]: reference },
  })),
];

const readOptional: ReadFile = async (directory, file) => {
  try {
    return await readRegularFile(join(directory, file));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw toFleetError(error, `reading ${join(directory, file)}`);
  }
};
