import { type Digest, digestOf } from '../digest.ts';
import { FleetError } from '../errors.ts';
import { claimPaths } from './claim-paths.ts';
import { checkPath, LAYER_PATHS } from './entry-path.ts';
import { gzipFixed } from './gzip.ts';
import { BLOCK, encodeHeader, paddingOf, quoted } from './tar-header.ts';

export type LayerFile = { path: string; bytes: Uint8Array; executable?: boolean };

/** `bytes` is the gzip, `digest` and `size` are of it; `diffId` and `uncompressedSize` are of the tar inside. */
export type PackedLayer = {
  bytes: Buffer;
  digest: Digest;
  size: number;
  diffId: Digest;
  uncompressedSize: number;
};

type Entry = { readonly path: string; readonly key: Buffer; readonly file: LayerFile | undefined };

/**
 * Files to one layer (OCI image spec, layer: tar+gzip), the same bytes whatever the order of the files: sorted
 * bytewise, parents as entries before what they hold, no times, no owners.
 * @throws FleetError BAD_NAME for paths that unpackLayer would refuse or ustar cannot hold, DUPLICATE
 */
export const packLayer = (files: readonly LayerFile[]): PackedLayer => {
  const entries = entriesOf(files);
  const total = entries.reduce((sum, { file }) => sum + BLOCK + roundUp(file?.bytes.length ?? 0), 2 * BLOCK);
  const tar = Buffer.alloc(total);
  let at = 0;
  for (const { path, file } of entries) {
    const size = file?.bytes.length ?? 0;
    const directory = file === undefined;
    const mode = directory || file.executable === true ? 0o755 : 0o644;
    encodeHeader({ ...splitName(directory ? `${path}/` : path), size, mode, directory }).copy(tar, at);
    if (file) tar.set(file.bytes, at + BLOCK);
    at += BLOCK + roundUp(size);
  }
  const bytes = gzipFixed(tar);
  return {
    bytes,
    digest: digestOf(bytes),
    size: bytes.length,
    diffId: digestOf(tar),
    uncompressedSize: tar.length,
  };
};

/** Every file and every parent directory once, in the order of their bytes. */
const entriesOf = (files: readonly LayerFile[]): Entry[] => {
  const claim = claimPaths();
  const entries: Entry[] = [];
  const parents = new Set<string>();
  for (const file of files) {
    claim(checkPath(file.path, LAYER_PATHS), false);
    entries.push({ path: file.path, key: Buffer.from(file.path), file });
    for (let end = file.path.lastIndexOf('/'); end > 0; end = file.path.lastIndexOf('/', end - 1)) {
      const path = file.path.slice(0, end);
      if (parents.has(path)) break;
      parents.add(path);
      entries.push({ path, key: Buffer.from(path), file: undefined });
    }
  }
  return entries.sort((a, b) => Buffer.compare(a.key, b.key));
};

/** Paths over 100 bytes are cut at a slash into prefix and name, as late as the prefix field allows (ustar). */
const splitName = (path: string): { name: string; prefix: string } => {
  const bytes = Buffer.from(path);
  if (bytes.length <= 100) return { name: path, prefix: '' };
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
