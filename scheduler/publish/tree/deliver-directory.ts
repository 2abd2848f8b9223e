import { createHash, randomUUID } from 'node:crypto';
import { lstat, readdir, readFile, readlink, rename, rm, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { compareBytes } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import { makeDirectory } from '#bundles/layout/make-directory';
import type { Tree } from '../../render/render-tree.ts';

export type DirectoryDelivery = {
  readonly directory: string;
  readonly environment: string;
  readonly tree: Tree;
  readonly isKept: (folder: string) => boolean;
  readonly dryRun?: boolean;
};

export type DirectoryOutcome = {
  readonly outcome: 'written' | 'unchanged' | 'planned';
  readonly written: readonly string[];
  readonly removed: readonly string[];
  readonly unchanged: number;
};

/** Where the trees themselves are, each under the digest of what it holds. */
const STORE = '.trees';

/**
 * Makes `<directory>/<environment>` a link to the whole tree, in one step: who reads through it finds the old tree or the
 * new one, whenever this is killed. The tree before stays for who is reading it; older ones go.
 * @throws FleetError IO where something else stands there; PERMISSION, DISK_FULL
 */
export const deliverDirectory = async (delivery: DirectoryDelivery): Promise<DirectoryOutcome> => {
  const { directory, environment, tree, isKept, dryRun } = delivery;
  const link = join(directory, environment);
  try {
    const old = await currentTree(link);
    const before = old === undefined ? new Map<string, Buffer>() : await readAll(join(directory, old));
    const kept = [...before].filter(
      ([path]) => !tree.has(path) && isKept(path.split('/').slice(0, 2).join('/')),
    );
    const next = new Map([...tree, ...kept].toSorted(([a], [b]) => compareBytes(a, b)));
    const written = [...next]
      .filter(([path, bytes]) => !before.get(path)?.equals(bytes))
      .map(([path]) => path);
    const removed = [...before.keys()].filter((path) => !next.has(path));
    const changes = { written, removed, unchanged: next.size - written.length };
    if (old !== undefined && written.length + removed.length === 0)
      return { outcome: 'unchanged', ...changes };
    if (dryRun) return { outcome: 'planned', ...changes };
    const target = join(STORE, `${environment}-${nameOf(next)}`);
    await writeAll(directory, target, next);
    await pointTo(link, target);
    await removeOthers(directory, environment, [target, old]);
    return { outcome: 'written', ...changes };
  } catch (error) {
    throw toFleetError(error, `writing ${link}`);
  }
};

/** What the link points to; undefined where there is none. */
const currentTree = async (link: string): Promise<string | undefined> => {
  const found = await lstat(link).catch(() => undefined);
  if (!found) return undefined;
  const target = found.isSymbolicLink() ? await readlink(link) : '';
  if (dirname(target) === STORE) return target;
  throw new FleetError('IO', `${link} is not a link of ours`, {
    hint: 'Move it away, or give another directory; render --out writes into folders as they are',
  });
};

const readAll = async (root: string): Promise<ReadonlyMap<string, Buffer>> => {
  const entries = await readdir(root, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(root.length + 1));
  const read = await Promise.all(
    files.map(async (path) => [path, await readFile(join(root, path))] as const),
  );
  return new Map(read);
};

const nameOf = (files: ReadonlyMap<string, Buffer>): string => {
  const hash = createHash('sha256');
  for (const [path, bytes] of files) hash.update(`${path}\0${bytes.length}\n`).update(bytes);
  return hash.digest('hex').slice(0, 32);
};

/** A tree that is there under its name is whole: it got the name when it was. */
const writeAll = async (
  directory: string,
  target: string,
  files: ReadonlyMap<string, Buffer>,
): Promise<void> => {
  const place = join(directory, target);
  if (await lstat(place).catch(() => undefined)) return;
  const draft = join(directory, STORE, `.${randomUUID()}`);
  try {
    await makeDirectory(draft);
    for (const [path, bytes] of files) {
      await makeDirectory(dirname(join(draft, path)));
      await writeFile(join(draft, path), bytes, { flag: 'wx', mode: 0o644, flush: true });
    }
    await rename(draft, place);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
};

const pointTo = async (link: string, target: string): Promise<void> => {
  const draft = join(dirname(link), `.${randomUUID()}.link`);
  try {
    await symlink(target, draft);
    await rename(draft, link);
  } finally {
    await rm(draft, { force: true });
  }
};

const removeOthers = async (
  directory: string,
  environment: string,
  kept: readonly (string | undefined)[],
): Promise<void> => {
  const isOurs = new RegExp(`^${environment}-[0-9a-f]{32}$`);
  for (const name of await readdir(join(directory, STORE)))
    if (isOurs.test(name) && !kept.includes(join(STORE, name)))
      await rm(join(directory, STORE, name), { recursive: true, force: true });
};
