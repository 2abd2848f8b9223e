import { createHash } from 'node:crypto';
import { closeSync, existsSync, fstatSync, openSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { compareBytes, type Digest } from '#bundles/digest';

const ROOT = join(import.meta.dirname, '../../..');

/** Only a checkout has it. */
const LOCK_FILE = 'package-lock.json';
/** Folders that decide the output of a build that runs from a checkout. An installed program has a folder of its own. */
const SOURCES = ['bundles', 'cli', 'scheduler'];

let known: { readonly digest: Digest | undefined } | undefined;

/**
 * Digest of this program's code, of the files that it reads and of Node: a version number is the same for many states of a checkout.
 * @returns undefined if a file was replaced since the process started, which may have loaded the one before, or cannot be read: an upgrade
 *   replaces files one by one, and a server runs on meanwhile
 */
export const programDigest = (): Digest | undefined => {
  known ??= { digest: digestOfFiles(ROOT, performance.timeOrigin) };
  return known.digest;
};

/**
 * @param root of a checkout or of an installed program
 * @param startedAt milliseconds since 1970; a file whose inode changed later counts as replaced, because the times of contents may be set
 */
export const digestOfFiles = (root: string, startedAt: number): Digest | undefined => {
  const hash = createHash('sha256');
  const { node, v8, zlib } = process.versions;
  hash.update(`${node} ${v8} ${zlib}\n`);
  try {
    const isCheckout = existsSync(join(root, LOCK_FILE));
    const files = isCheckout
      ? [LOCK_FILE, ...SOURCES.flatMap((folder) => filesIn(root, folder))]
      : filesIn(root, '.');
    for (const file of files.toSorted(compareBytes)) {
      const bytes = readUnchanged(join(root, file), startedAt);
      if (!bytes) return undefined;
      hash.update(`${file} ${bytes.byteLength}\n`).update(bytes);
    }
  } catch {
    return undefined;
  }
  return `sha256:${hash.digest('hex')}`;
};

const readUnchanged = (file: string, startedAt: number): Buffer | undefined => {
  const opened = openSync(file, 'r');
  try {
    const bytes = readFileSync(opened);
    // After reading: a file that is replaced meanwhile loses its name, which changes its inode.
    return fstatSync(opened).ctimeMs < startedAt ? bytes : undefined;
  } finally {
    closeSync(opened);
  }
};

const filesIn = (root: string, folder: string): readonly string[] =>
  readdirSync(join(root, folder), { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [relative(root, join(entry.parentPath, entry.name))] : [],
  );
