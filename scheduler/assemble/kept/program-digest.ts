import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { compareBytes, type Digest } from '#bundles/digest';

const ROOT = join(import.meta.dirname, '../../..');

/** Only a checkout has it. */
const LOCK_FILE = 'package-lock.json';
/** Folders that decide the output of a build that runs from a checkout. An installed program has a folder of its own. */
const SOURCES = ['bundles', 'cli', 'scheduler'];

let known: Digest | undefined;

/** Digest of this program's code, of the files that it reads and of Node: a version number is the same for many states of a checkout. */
export const programDigest = (): Digest => {
  if (known) return known;
  const hash = createHash('sha256');
  const { node, v8, zlib } = process.versions;
  hash.update(`${node} ${v8} ${zlib}\n`);
  const files = existsSync(join(ROOT, LOCK_FILE)) ? [LOCK_FILE, ...SOURCES.flatMap(filesIn)] : filesIn('.');
  for (const file of files.toSorted(compareBytes)) {
    const bytes = readFileSync(join(ROOT, file));
    hash.update(`${file} ${bytes.byteLength}\n`).update(bytes);
  }
  return (known = `sha256:${hash.digest('hex')}`);
};

const filesIn = (folder: string): readonly string[] =>
  readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [relative(ROOT, join(entry.parentPath, entry.name))] : [],
  );
