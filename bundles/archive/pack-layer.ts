import { compareBytes, type Digest, digestOf } from '../digest.ts';
import { FleetError } from '../errors.ts';
import { checkPath, LAYER_PATHS } from './entry-path.ts';
import { gzipAside, gzipFixed } from './gzip.ts';
import { BLOCK, paddingOf, quoted, writeHeader } from './tar-header.ts';

/** A string stands for its UTF-8 bytes. */
export type LayerFile = { path: string; bytes: Uint8Array | string; executable?: boolean };

/** `bytes` is the gzip, `digest` and `size` are of it; `uncompressedSize` is of the tar inside. */
export type PackedLayer = {
  readonly bytes: Buffer;
  readonly digest: Digest;
  readonly size: number;
  readonly uncompressedSize: number;
};

/** A folder whose entries somebody has written already: what stands in many layers nearly the same is not made anew. */
export type PackedFolder = {
  readonly path: string;
  /** Bytes of the entries of all it holds, whole blocks, sorted; its own entry is not among them. */
  readonly size: number;
  readonly writeTo: (tar: Buffer, at: number) => void;
};

/** A directory has neither file nor folder; a folder stands for all it holds. */
type Entry = {
  readonly path: string;
  readonly size: number;
  readonly file?: LayerFile;
  readonly folder?: PackedFolder;
};

/**
 * Files to one layer (OCI image spec, layer: tar+gzip), the same bytes whatever the order of the files: sorted
 * bytewise, parents as entries before what they hold, no times, no owners.
 * @throws FleetError BAD_NAME for paths that unpackLayer would refuse or ustar cannot hold, DUPLICATE
 */
export const packLayer = (files: readonly LayerFile[]): PackedLayer & { readonly diffId: Digest } => {
  const entries = entriesOf(files, []);
  const tar = writeTar(entries, Buffer.alloc(sizeOf(entries)));
  return {
    ...toLayer(gzipFixed(tar), tar.length),
    get diffId() {
      return digestOf(tar);
    },
  };
};

/** The same layer, compressed on another thread. @throws as packLayer */
export const packLayerAside = async (
  files: readonly LayerFile[],
  folders: readonly PackedFolder[] = [],
): Promise<PackedLayer> => {
  const entries = entriesOf(files, folders);
  const size = sizeOf(entries);
  const space = takeSpace(size);
  const tar = writeTar(entries, space.subarray(0, size).fill(0));
  const bytes = await gzipAside(tar);
  giveBack(space);
  return toLayer(bytes, size);
};

/**
 * Room for an archive is used again: each is megabytes, needed for milliseconds, and to have hundreds of them collected makes
 * V8 mark all else that lives.
 */
const spaces: Buffer[] = [];
const MAX_SPACES = 2;
const MAX_SPACE = 32 << 20;

const takeSpace = (size: number): Buffer => {
  const found = spaces.findIndex(({ length }) => length >= size);
  // A little more, so that the next one, of a few files more, fits too.
  return spaces.splice(found, found < 0 ? 0 : 1)[0] ?? Buffer.allocUnsafeSlow(size + (size >> 3));
};

const giveBack = (space: Buffer): void => {
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

/** The uncompressed archive in a space of its size, all zero. */
const writeTar = (entries: readonly Entry[], tar: Buffer): Buffer => {
  let at = 0;
  for (const entry of entries) {
    const { path, file, folder, size } = entry;
    if (folder) folder.writeTo(tar, at);
    else writeEntry(tar, at, { path, size, file });
    at += spaceOf(entry);
  }
  return tar;
};

const spaceOf = ({ folder, size }: Entry): number => (folder ? size : BLOCK + roundUp(size));

const writeEntry = (
  tar: Buffer,
  at: number,
  {
    path,
    size,
    file,
  }: { readonly path: string; readonly size: number; readonly file: LayerFile | undefined },
): void => {
  const directory = file === undefined;
  const mode = directory || file.executable === true ? 0o755 : 0o644;
  writeHeader(tar, at, { ...splitName(directory ? `${path}/` : path), size, mode, directory });
  if (typeof file?.bytes === 'string') tar.write(file.bytes, at + BLOCK);
  else if (file) tar.set(file.bytes, at + BLOCK);
};

/** The blocks of one file, as a PackedFolder has them. @throws FleetError BAD_NAME */
export const encodeFile = (path: string, bytes: Uint8Array): Buffer => {
  const blocks = Buffer.alloc(BLOCK + roundUp(bytes.length));
  const file = { path: checkPath(path, LAYER_PATHS), bytes };
  writeEntry(blocks, 0, { path, size: bytes.length, file });
  return blocks;
};

/** The block of a folder inside of a PackedFolder. @throws FleetError BAD_NAME */
export const encodeDirectory = (path: string): Buffer => {
  const block = Buffer.alloc(BLOCK);
  writeEntry(block, 0, { path: checkPath(path, LAYER_PATHS), size: 0, file: undefined });
  return block;
};

/** Every file and every parent directory once, in the order of their bytes. @throws FleetError BAD_NAME, DUPLICATE */
const entriesOf = (files: readonly LayerFile[], folders: readonly PackedFolder[]): readonly Entry[] => {
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
  // What a folder holds comes right behind its path and a slash, and not always right behind the folder: `a`, `a-b`, `a/x`.
  for (const folder of folders) {
    const path = checkPath(folder.path, LAYER_PATHS);
    entries.push({ path, size: 0 }, { path: `${path}/`, folder, size: folder.size });
  }
  entries.sort((a, b) => compareBytes(a.path, b.path));
  // Two of one path lie side by side now, a file and a folder too.
  const twice = entries.find(({ path }, at) => path === entries[at + 1]?.path);
  if (!twice) return entries;
  throw new FleetError('DUPLICATE', 'an archive names the same path twice', { subject: quoted(twice.path) });
};

/** Paths over 100 bytes are cut at a slash into prefix and name, as late as the prefix field allows (ustar). */
const splitName = (path: string): { name: string; prefix: string } => {
  // Three bytes a UTF-16 unit at most.
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
