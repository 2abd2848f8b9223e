import { readdirSync, readFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import { type Digest, digestOf } from '#bundles/digest';

/** Every file below a folder with its content, by path, sorted. */
export const filesOf = (root: string): ReadonlyMap<string, Buffer> =>
  new Map(
    readdirSync(root, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .toSorted()
      .map((path) => [path.slice(root.length + 1).replaceAll(sep, '/'), readFileSync(path)]),
  );

/** As filesOf, to be compared: matchers look at a large file number by number. */
export const digestsOf = (root: string): ReadonlyMap<string, Digest> =>
  new Map([...filesOf(root)].map(([path, bytes]) => [path, digestOf(bytes)]));
