import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TarEntry, writeTar } from '#bundles/formats/archive/write-tar';
import { canonicalBytes } from '#bundles/json/canonical';
import { compareBytes, type Digest, digestFromHex, digestOf, hexOf } from '#bundles/digest';
import {
  type Chunked,
  MEDIUM_FILE,
  type Medium,
  PART_FILE,
  PARTS_FILE,
} from '#bundles/formats/medium/medium';
import { partPath } from '#bundles/formats/medium/parts/part';

type File = { readonly path: string; readonly bytes: Buffer };

export type TestSetOptions = {
  /** Blobs over so many bytes are cut into pieces of that. */
  readonly cut?: number;
  readonly seal?: (content: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>;
};

/** A set of parts, made of a medium that is a directory: its bytes, and sticks to put them on. */
export type TestSet = {
  readonly set: Digest;
  readonly numbers: readonly number[];
  /** The bytes of one part's file. */
  readonly part: (number: number) => Buffer;
  /** What one part alone has. */
  readonly files: (number: number) => readonly string[];
  /** Writes a stick with these parts. @param change what becomes of a part's bytes on their way @returns `path` */
  readonly stick: (
    path: string,
    numbers: readonly number[],
    change?: (number: number, bytes: Buffer) => Buffer,
  ) => Promise<string>;
};

/** What is JSON (documents, manifests, configs) goes into every part; the rest is dealt out in turn. */
export const makeTestSet = async (
  medium: string,
  count: number,
  { cut = Number.MAX_SAFE_INTEGER, seal }: TestSetOptions = {},
): Promise<TestSet> => {
  const table = JSON.parse(await readFile(join(medium, MEDIUM_FILE), 'utf8')) as Medium;
  const names = (await readdir(join(medium, 'blobs/sha256'))).toSorted(compareBytes);
  const blobs = await Promise.all(
    names.map(async (hex) => ({ hex, bytes: await readFile(join(medium, 'blobs/sha256', hex)) })),
  );
  const everywhere: File[] = [];
  const dealt: File[] = [];
  const chunks: Chunked[] = [];
  for (const { hex, bytes } of blobs) {
    const path = `blobs/sha256/${hex}`;
    if (isJson(bytes)) everywhere.push({ path, bytes });
    else if (bytes.byteLength <= cut) dealt.push({ path, bytes });
    else {
      const pieces = Array.from({ length: Math.ceil(bytes.byteLength / cut) }, (_, index) => ({
        path: `fleet/chunks/${hex.slice(0, 32)}.${String(index).padStart(3, '0')}`,
        bytes: bytes.subarray(index * cut, (index + 1) * cut),
      }));
      dealt.push(...pieces);
      const files = pieces.map((it) => ({
        path: it.path,
        digest: digestOf(it.bytes),
        size: it.bytes.byteLength,
      }));
      chunks.push({ digest: digestFromHex(hex), size: bytes.byteLength, files });
    }
  }
  const numbers = Array.from({ length: count }, (_, index) => index + 1);
  const own = new Map(numbers.map((number) => [number, dealt.filter((_, at) => at % count === number - 1)]));
  const parts = numbers.map((number) => ({
    number,
    files: (own.get(number) ?? []).map(({ path }) => path).toSorted(compareBytes),
  }));
  const bytes = canonicalBytes({ ...table, chunks, parts });
  const set = digestOf(bytes);
  const built = new Map<number, Buffer>();
  for (const number of numbers) {
    const files = [
      { path: PART_FILE, bytes: canonicalBytes({ count, format: 1, number, set }) },
      { path: 'oci-layout', bytes: await readFile(join(medium, 'oci-layout')) },
      { path: 'index.json', bytes: await readFile(join(medium, 'index.json')) },
      { path: MEDIUM_FILE, bytes },
      ...everywhere,
      ...(own.get(number) ?? []).toSorted((a, b) => compareBytes(a.path, b.path)),
    ];
    const tar = writeTar(
      files.map((file): TarEntry => ({ path: file.path, size: file.bytes.byteLength, content: file.bytes })),
    );
    built.set(number, Buffer.concat(await Array.fromAsync(seal ? seal(tar) : tar)));
  }
  const part = (number: number): Buffer => built.get(number) ?? Buffer.alloc(0);
  return {
    set,
    numbers,
    part,
    files: (number) => parts[number - 1]?.files ?? [],
    stick: async (path, onIt, change = (_, same) => same) => {
      await mkdir(join(path, 'fleet/parts'), { recursive: true });
      const listed = onIt.map((number) => {
        const whole = part(number);
        const file = partPath(set, number, seal !== undefined);
        return {
          number,
          path: file,
          size: whole.byteLength,
          digest: digestOf(whole),
          bytes: change(number, whole),
        };
      });
      for (const { path: file, bytes: written } of listed) await writeFile(join(path, file), written);
      await writeFile(
        join(path, PARTS_FILE),
        canonicalBytes({
          format: 1,
          set,
          count,
          sealed: seal !== undefined,
          parts: listed.map(({ bytes: _, ...line }) => line),
        }),
      );
      return path;
    },
  };
};

/** `hexOf` of a blob that a part has alone, as a path. */
export const blobFile = (digest: Digest): string => `blobs/sha256/${hexOf(digest)}`;

const isJson = (bytes: Buffer): boolean => {
  try {
    JSON.parse(bytes.toString('utf8'));
    return true;
  } catch {
    return false;
  }
};
