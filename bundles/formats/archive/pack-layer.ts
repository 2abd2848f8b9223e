import { compareBytes, type Digest, digestOf } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { checkPath, LAYER_PATHS } from './entry-path.ts';
import { gzipOnThread, gzipFixed } from './gzip.ts';
import { BLOCK, paddingOf, quoted, writeHeader } from './tar-header.ts';

/** A string is written as UTF-8. */
export type LayerFile = { path: string; bytes: Uint8Array | string; executable?: boolean };

/** `digest` and `size` are those of the gzip in `bytes`; `uncompressedSize` is that of the tar in it. */
export type PackedLayer = {
  readonly bytes: Buffer;
  readonly digest: Digest;
  readonly size: number;
  readonly uncompressedSize: number;
};

/** Without `file` it is a folder. */
type Entry = { readonly path: string; readonly size: number; readonly file?: LayerFile };

/**
 * Packs files into one layer (OCI image spec, layer: tar+gzip). The bytes do not depend on the order of the files: entries are
 * sorted bytewise, folders precede their content, there are no times and owners.
 * @throws FleetError BAD_NAME for paths that unpackLayer would refuse or ustar cannot hold, DUPLICATE
 */
export const packLayer = (files: readonly LayerFile[]): PackedLayer & { readonly diffId: Digest } => {
  const entries = entriesOf(files);
  const tar = writeTar(entries, Buffer.alloc(sizeOf(entries)));
  return {
    ...toLayer(gzipFixed(tar), tar.length),
    get diffId() {
      return digestOf(tar);
    },
  };
};

/** As packLayer, compressed on another thread. @throws FleetError BAD_NAME, DUPLICATE */
export const packLayerOnThread = async (files: readonly LayerFile[]): Promise<PackedLayer> => {
  const entries = entriesOf(files);
  const size = sizeOf(entries);
  const space = takeSpace(size);
  const tar = writeTar(entries, space.subarray(0, size).fill(0));
  const bytes = await gzipOnThread(tar);
  returnBuffer(space);
  return toLayer(bytes, size);
};

/**
 * Buffers of archives for reuse. Each has megabytes and is needed for milliseconds; collecting hundreds of them would make V8 mark
 * the whole heap.
 */
const spaces: Buffer[] = [];
const MAX_SPACES = 2;
const MAX_SPACE = 32 << 20;

const takeSpace = (size: number): Buffer => {
  const found = spaces.findIndex(({ length }) => length >= size);
  // An eighth more, so that a slightly larger archive fits too.
  return spaces.splice(found, found < 0 ? 0 : 1)[0] ?? Buffer.allocUnsafeSlow(size + (size >> 3));
};

const returnBuffer = (space: Buffer): void => {
  if (space.length > MAX_SPACE) return;
  spaces.push(space);
  if (spaces.length > MAX_SPACES) spaces.shift();
};

const toLayer = (bytes: Buffer, uncompressedSize: number): PackedLayer => ({
  bytes,
  digest: digestOf(bytes),
  size: bytes.length,
  uncompressedSize,
});

const sizeOf = (entries: readonly Entry[]): number =>
  entries.reduce((sum, entry) => sum + spaceOf(entry), 2 * BLOCK);

/** Writes the uncompressed archive into a zeroed buffer of its size. */
const writeTar = (entries: readonly Entry[], tar: Buffer): Buffer => {
  let at = 0;
  for (const entry of entries) {
    writeEntry(tar, at, entry);
    at += spaceOf(entry);
  }
  return tar;
};

const spaceOf = ({ size }: Entry): number => BLOCK + roundUp(size);

const writeEntry = (tar: Buffer, at: number, { path, size, file }: Entry): void => {
  const directory = file === undefined;
  const mode = directory || file.executable === true ? 0o755 : 0o644;
  writeHeader(tar, at, { ...splitName(directory ? `${path}/` : path), size, mode, directory });
  if (typeof file?.bytes === 'string') tar.write(file.bytes, at + BLOCK);
  else if (file) tar.set(file.bytes, at + BLOCK);
};

/** Every file and every parent directory once, in the order of their bytes. @throws FleetError BAD_NAME, DUPLICATE */
const entriesOf = (files: readonly LayerFile[]): readonly Entry[] => {
  const entries: Entry[] = [];
  const parents = new Set<string>();
  let last = '';
  for (const file of files) {
    const path = checkPath(file.path, LAYER_PATHS);
    entries.push({ path, file, size: Buffer.byteLength(file.bytes) });
    const parent = path.slice(0, Math.max(0, path.lastIndexOf('/')));
    if (parent === last) continue;
    last = parent;
    for (let end = parent.length; end > 0; end = parent.lastIndexOf('/', end - 1)) {
      const folder = parent.slice(0, end);
      if (parents.has(folder)) break;
      parents.add(folder);
      entries.push({ path: folder, size: 0 });
    }
  }
  entries.sort((a, b) => compareBytes(a.path, b.path));
  // Sorting has made equal paths neighbours, also those of a file and a folder.
  const twice = entries.find(({ path }, at) => path === entries[at + 1]?.path);
  if (!twice) return entries;
  throw new FleetError('DUPLICATE', 'an archive names the same path twice', { subject: quoted(twice.path) });
};

/** Paths over 100 bytes are cut at a slash into prefix and name, as late as the prefix field allows (ustar). */
const splitName = (path: string): { name: string; prefix: string } => {
  // A UTF-16 unit takes at most three bytes.
  if (path.length * 3 <= 100 || Buffer.byteLength(path) <= 100) return { name: path, prefix: '' };
  const bytes = Buffer.from(path);
  // A directory's own last slash cannot be the cut: nothing would be left for the name.
  const cut = bytes.lastIndexOf(0x2f, Math.min(155, bytes.length - 2));
  if (cut > 0 && bytes.length - cut - 1 <= 100) {
    return { prefix: bytes.toString('utf8', 0, cut), name: bytes.toString('utf8', cut + 1) };
  }
  throw new FleetError('BAD_NAME', 'the path cannot be cut at a slash into 155 and 100 bytes', {
    subject: quoted(path),
    hint: 'Use shorter file or directory names',
  });
};

const roundUp = (size: number): number => size + paddingOf(size);
