import { createHash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { compareBytes, type Digest } from '#bundles/digest';

const ROOT = join(import.meta.dirname, '../../..');

/** Only a checkout has it. */
const LOCK = 'package-lock.json';

/** Files that decide the output of a build that runs from a checkout. */
const SOURCES = ['bundles', 'cli', 'scheduler', LOCK];

/** A bundled program: one file or several, beside the files that it reads. */
const BUNDLED = /\.[cm]js$/;

let known: Digest | undefined;

/** Digest of this program's code, of the files that it reads and of Node: a version number is the same for many states of a checkout. */
export const programDigest = (): Digest => {
  if (known) return known;
  const hash = createHash('sha256');
  const { node, v8, zlib } = process.versions;
  hash.update(`${node} ${v8} ${zlib}\n`);
  const files = existsSync(join(ROOT, LOCK))
    ? SOURCES.flatMap(filesIn)
    : [...readdirSync(ROOT).filter((name) => BUNDLED.test(name)), ...filesIn('scheduler')];
  for (const file of files.toSorted(compareBytes)) {
    const bytes = readFileSync(join(ROOT, file));
    hash.update(`${file} ${bytes.byteLength}\n`).update(bytes);
  }
  return (known = `sha256:${hash.digest('hex')}`);
};

const filesIn = (path: string): readonly string[] => {
  if (path.includes('.')) return [path];
  return readdirSync(join(ROOT, path), { recursive: true, withFileTypes: true }).flatMap((entry) =>
    entry.isFile() ? [join(entry.parentPath, entry.name).slice(ROOT.length + 1)] : [],
  );
};
