import { createHash, randomUUID } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { lstat, open, readdir, readlink, rename, rm, symlink } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { compareBytes } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import { DAY_MS } from '#bundles/time';
import { inParallel } from '#bundles/in-parallel';
import { createDirectory } from '#bundles/formats/layout/create-directory';
import { syncDirectory } from '#bundles/formats/layout/sync-directory';
import type { Tree } from '../../render/render-tree.ts';

export type DirectoryDelivery = {
  readonly directory: string;
  readonly environment: string;
  readonly tree: Tree;
  /** More files of the tree, by the paths that are there. */
  readonly earlier?: (before: Iterable<string>) => Tree;
  readonly isKept: (folder: string) => boolean;
  readonly dryRun?: boolean;
};

export type DirectoryOutcome = {
  readonly outcome: 'written' | 'unchanged' | 'planned';
  readonly written: readonly string[];
  readonly removed: readonly string[];
  readonly unchanged: number;
};

/** Folder of the trees, each named by its environment and a digest of its content. */
const STORE = '.trees';

/**
 * Writes a tree and atomically points the link `<directory>/<environment>` to it, so that readers find either the old or the new
 * tree, even after an interruption. The previous tree is kept for current readers; older ones are removed.
 * @throws FleetError IO if the path is not a link of ours; PERMISSION, DISK_FULL
 */
export const deliverDirectory = async (delivery: DirectoryDelivery): Promise<DirectoryOutcome> => {
  const { directory, environment, isKept, dryRun, earlier } = delivery;
  const link = join(directory, environment);
  try {
    const old = await currentTree(link);
    const before = old === undefined ? new Map<string, Buffer>() : await readAll(join(directory, old));
    const tree = new Map([...delivery.tree, ...(earlier?.(before.keys()) ?? [])]);
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
    await removeDrafts(directory, target);
    return { outcome: 'written', ...changes };
  } catch (error) {
    throw toFleetError(error, `writing ${link}`);
  }
};

/** The target of the link; undefined if there is none. @throws FleetError IO if it is not a link of ours */
const currentTree = async (link: string): Promise<string | undefined> => {
  const found = await lstat(link).catch(() => undefined);
  if (!found) return undefined;
  const target = found.isSymbolicLink() ? await readlink(link) : '';
  if (dirname(target) === STORE) return target;
  throw new FleetError('IO', `${link} is not a link of ours`, {
    hint: 'Move it away, or give another directory; render --out writes into folders as they are',
  });
};

/** Files read or written between two turns of the event loop: the calls are synchronous, as in writeTree. */
const PAUSE = 200;

const readAll = async (root: string): Promise<ReadonlyMap<string, Buffer>> => {
  const files = new Map<string, Buffer>();
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    if (files.size % PAUSE === 0) await setImmediate();
    const path = join(entry.parentPath, entry.name);
    files.set(path.slice(root.length + 1), readFileSync(path));
  }
  return files;
};

const nameOf = (files: ReadonlyMap<string, Buffer>): string => {
  const hash = createHash('sha256');
  for (const [path, bytes] of files) hash.update(`${path}\0${bytes.length}\n`).update(bytes);
  return hash.digest('hex').slice(0, 32);
};

/** Writes a tree under a temporary name and renames it when complete, so that an existing target is always complete. */
const writeAll = async (
  directory: string,
  target: string,
  files: ReadonlyMap<string, Buffer>,
): Promise<void> => {
  const place = join(directory, target);
  if (await lstat(place).catch(() => undefined)) return;
  const draft = join(directory, STORE, `.${randomUUID()}`);
  try {
    await createDirectory(draft);
    const folders = new Set(['.']);
    for (const [at, [path, bytes]] of [...files].entries()) {
      if (at % PAUSE === 0) await setImmediate();
      mkdirSync(join(draft, dirname(path)), { recursive: true });
      for (let folder = dirname(path); !folders.has(folder); folder = dirname(folder)) folders.add(folder);
      writeFileSync(join(draft, path), bytes, { flag: 'wx', mode: 0o644 });
    }
    // Synced in parallel after the last write, so that one file system commit covers many files.
    await inParallel(files.keys(), MAX_SYNCS, (path) => syncFile(join(draft, path)));
    await inParallel(folders, MAX_SYNCS, (folder) => syncDirectory(join(draft, folder)));
    await rename(draft, place);
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
};

const MAX_SYNCS = 16;

const syncFile = async (path: string): Promise<void> => {
  const file = await open(path, 'r');
  try {
    await file.sync();
  } finally {
    await file.close();
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

/** Removes drafts that are a day older than the newest tree: their processes were killed. */
const removeDrafts = async (directory: string, newest: string): Promise<void> => {
  const { mtimeMs } = await lstat(join(directory, newest));
  for (const folder of [directory, join(directory, STORE)]) {
    for (const name of await readdir(folder)) {
      if (!DRAFT.test(name)) continue;
      const found = await lstat(join(folder, name)).catch(() => undefined);
      if (found && mtimeMs - found.mtimeMs > DAY_MS)
        await rm(join(folder, name), { recursive: true, force: true });
    }
  }
};

const DRAFT = /^\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}(?:\.link)?$/;
