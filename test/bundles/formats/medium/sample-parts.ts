import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { writeTar } from '#bundles/formats/archive/write-tar';
import { canonicalBytes } from '#bundles/json/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import { type Medium, PART_FILE } from '#bundles/formats/medium/medium';
import { type PartLabel, partName } from '#bundles/formats/medium/parts/part';
import { blobPath, CHUNKED, type MediumFile, sampleMedium, WHOLE } from './sample-medium.ts';

/** Megabytes are hashed once. */
const BY_PATH = new Map(WHOLE.map((content) => [blobPath(digestOf(content)), content]));

/** What every part has. */
export const SHARED = Buffer.from('a document');

/** The sample medium in three parts: one blob each in the first two, a blob in pieces over all three. */
export const setMedium = (change: Partial<Medium> = {}): Medium => {
  const medium = sampleMedium();
  const pieces = medium.chunks[0]?.files.map(({ path }) => path) ?? [];
  const blobs = [...BY_PATH.keys()];
  const files = pieces.map((piece, at) => [...blobs.slice(at, at + 1), piece]);
  return { ...medium, parts: files.map((own, at) => ({ number: at + 1, files: own })), ...change };
};

const contentOf = (path: string): Buffer => {
  const [chunk] = sampleMedium().chunks;
  const at = chunk?.files.findIndex((piece) => piece.path === path) ?? -1;
  if (at >= 0) return CHUNKED.subarray(at * 1000, (at + 1) * 1000);
  return BY_PATH.get(path) ?? Buffer.alloc(0);
};

export type PartChange = {
  readonly medium?: Partial<Medium>;
  readonly label?: Partial<PartLabel>;
  /** Of the part's files, as they are written. */
  readonly files?: (files: readonly MediumFile[]) => readonly MediumFile[];
};

export const setOf = (change: PartChange = {}): Digest => digestOf(canonicalBytes(setMedium(change.medium)));

/** The bytes of one part. */
export const partBytes = async (number: number, change: PartChange = {}): Promise<Buffer> => {
  const medium = setMedium(change.medium);
  const count = medium.parts?.length ?? 0;
  const label = { format: 1, set: setOf(change), number, count, ...change.label };
  const own = medium.parts?.[number - 1]?.files ?? [];
  const files: readonly MediumFile[] = [
    { path: PART_FILE, content: canonicalBytes(label) },
    { path: 'oci-layout', content: Buffer.from('{"imageLayoutVersion":"1.0.0"}') },
    { path: 'index.json', content: Buffer.from('{"manifests":[],"schemaVersion":2}') },
    { path: 'fleet/medium.json', content: canonicalBytes(medium) },
    { path: blobPath(digestOf(SHARED)), content: SHARED },
    ...own.map((path) => ({ path, content: contentOf(path) })),
  ];
  const entries = (change.files?.(files) ?? files).map((file) => ({ ...file, size: file.content.length }));
  return Buffer.concat(await Array.fromAsync(writeTar(entries)));
};

/** Writes bytes under a part's name into a folder, and gives the path. */
export const writePart = async (
  folder: string,
  number: number,
  change: PartChange & { readonly name?: string } = {},
): Promise<string> => {
  const path = join(folder, change.name ?? partName(setOf(change), number, false));
  await mkdir(dirname(path), { recursive: true });
  await writeFile(path, await partBytes(number, change));
  return path;
};

export const writeParts = async (folder: string, numbers = [1, 2, 3]): Promise<readonly string[]> =>
  Promise.all(numbers.map((number) => writePart(folder, number)));

/** A stick: the parts and the list of them. */
export const writeVolume = async (stick: string, numbers = [1, 2, 3]): Promise<void> => {
  const set = setOf();
  const parts = await Promise.all(
    numbers.map(async (number) => {
      const path = `fleet/parts/${partName(set, number, false)}`;
      const bytes = await partBytes(number);
      await mkdir(join(stick, 'fleet/parts'), { recursive: true });
      await writeFile(join(stick, path), bytes);
      return { number, path, size: bytes.length, digest: digestOf(bytes) };
    }),
  );
  const list = { format: 1, set, count: 3, sealed: false, parts };
  await writeFile(join(stick, 'fleet/parts.json'), canonicalBytes(list));
};
