import { hash } from 'node:crypto';
import { encodeDirectory, encodeFile, type PackedFolder } from '#bundles/archive/pack-layer';
import { BLOCK } from '#bundles/archive/tar-header';
import type { PackageFile } from '#bundles/bundle/package-digest';
import { compareBytes, type Digest, digestOf } from '#bundles/digest';

/** A text cut where the namespace goes. */
export type Pieces = readonly string[];

/** An entry of an archive, for any namespace of one length. */
type EntryImage = {
  readonly path: string;
  readonly block: Buffer;
  /** Where in the block the namespace goes; of a folder nowhere. */
  readonly holes: readonly number[];
};

/**
 * A file as the archive of a bundle has it: header and content, for any namespace of one length. Of a fleet's 250,000 files
 * few differ in more than that, so they are written once and then only their namespace is.
 */
export type FileImage = EntryImage & {
  /** The bytes of the file alone, in the block. */
  readonly content: Buffer;
  /** Its line of the package's digest, before and behind its own; both in the first where its own is always the same. */
  readonly before: string;
  readonly after: string;
};

/** The folder of a package, for any namespace of one length. */
export type PackageImage = {
  readonly id: string;
  /** In the order of the archive, folders among them. */
  readonly entries: readonly EntryImage[];
  /** The files alone, in the same order, which is that of the digest. */
  readonly files: readonly FileImage[];
  /** Bytes of all entries. */
  readonly size: number;
};

/** @param standIn a text of one byte a character, as long as the namespaces are */
export const imageOfFile = (id: string, path: string, pieces: Pieces, standIn: string): FileImage => {
  const bytes = Buffer.from(pieces.join(standIn));
  const block = encodeFile(`${id}/${path}`, bytes);
  const holes: number[] = [];
  let at = BLOCK;
  for (const piece of pieces.slice(0, -1)) {
    at += Buffer.byteLength(piece);
    holes.push(at);
    at += standIn.length;
  }
  const after = `","path":${JSON.stringify(path)},"size":${bytes.length}}`;
  return {
    path,
    block,
    holes,
    content: block.subarray(BLOCK, BLOCK + bytes.length),
    ...(holes.length > 0
      ? { before: '{"digest":"sha256:', after }
      : { before: `{"digest":"${digestOf(bytes)}${after}`, after: '' }),
  };
};

export const imageOfPackage = (id: string, files: readonly FileImage[]): PackageImage => {
  const folders = new Set<string>();
  for (const { path } of files)
    for (let end = path.indexOf('/'); end > 0; end = path.indexOf('/', end + 1))
      folders.add(path.slice(0, end));
  const inOrder = <T extends EntryImage>(entries: readonly T[]): readonly T[] =>
    entries.toSorted((a, b) => compareBytes(a.path, b.path));
  const entries = inOrder<EntryImage>([
    ...files,
    ...[...folders].map((path) => ({ path, block: encodeDirectory(`${id}/${path}`), holes: [] })),
  ]);
  return {
    id,
    entries,
    files: inOrder(files),
    size: entries.reduce((sum, { block }) => sum + block.length, 0),
  };
};

/** As packageDigest has it, of what writing the namespace into the image makes. */
export const digestIn = ({ files }: PackageImage, namespace: string): Digest => {
  let text = '';
  for (const file of files) {
    const { before, after } = file;
    if (text !== '') text += ',';
    text += after === '' ? before : before + hash('sha256', contentIn(file, namespace), 'hex') + after;
  }
  return digestOf(`[${text}]`);
};

/** The image's own bytes, good until the next namespace is written. */
const contentIn = ({ block, holes, content }: FileImage, namespace: string): Buffer => {
  for (const at of holes) put(block, at, namespace);
  return content;
};

/** One byte a character. A call of Buffer's own takes longer than so short a text. */
const put = (bytes: Buffer, at: number, namespace: string): void => {
  for (let index = 0; index < namespace.length; index++) bytes[at + index] = namespace.charCodeAt(index);
};

export const filesIn = ({ files }: PackageImage, namespace: string): readonly PackageFile[] =>
  files.map((file) => ({ path: file.path, bytes: contentIn(file, namespace).toString('utf8') }));

export const folderIn = ({ id, entries, size }: PackageImage, namespace: string): PackedFolder => ({
  path: id,
  size,
  writeTo: (tar, start) => {
    let at = start;
    for (const { block, holes } of entries) {
      tar.set(block, at);
      for (const hole of holes) put(tar, at + hole, namespace);
      at += block.length;
    }
  },
});
