import type { Stats } from 'node:fs';
import { lstat, readlink, realpath } from 'node:fs/promises';
import { isAbsolute, join } from 'node:path';
import { dirname, basename } from 'node:path/posix';
import { belowRoot, componentsOf, isFollowed, MAX_LINKS } from './follow-link.ts';
import { type Mount, namesByMounts, readMounts } from './mounts.ts';
import { openRoot } from './held-directory.ts';
import { isProtectedDirectory } from '#bundles/file-protection';

/**
 * Where paths of the host lead today. Two paths with one place are one entry: on merged /usr /lib/x is /usr/lib/x, and links and bind
 * mounts of the administrator have the same effect. A place is a path, too, that leads to itself.
 */
export type Places = {
  /** The place of an entry: links and bind mounts on the way to it are resolved; the entry itself may be a link. */
  readonly file: (path: string) => Promise<string>;
  /** The place of a directory, to which the last component may be a link. */
  readonly folder: (path: string) => Promise<string>;
};

/** `at`: the nearest directory that exists, '' for the root; `rest`: what follows it in the path and is not a directory yet. */
type Dir = { readonly at: string; readonly rest: string; readonly trusted: boolean; readonly stats: Stats };

/**
 * Resolves paths below `root`. A link that openFolder would not follow is not followed here either: what is behind it keeps its name,
 * so a local user cannot make two paths one. Results are kept: make a new one for each plan and each look.
 */
export const placesOf = (root: string): Places => {
  const known = new Map<string, Dir>();
  const named = new Map<string, string>();
  let mounts: readonly Mount[] | undefined;
  let realRoot: string | undefined;

  const top = async (): Promise<Dir> => {
    const { handle } = await openRoot(root);
    try {
      return { at: '', rest: '', trusted: true, stats: await handle.stat() };
    } finally {
      await handle.close();
    }
  };

  const resolve = async (path: string, links: number): Promise<Dir> => {
    const before = known.get(path);
    if (before) return before;
    const found =
      path === '/' ? await top() : await enter(await resolve(dirname(path), links), basename(path), links);
    known.set(path, found);
    return found;
  };

  const enter = async (above: Dir, name: string, links: number): Promise<Dir> => {
    const unresolved: Dir = { ...above, rest: `${above.rest}/${name}` };
    if (above.rest !== '') return unresolved;
    const path = `${above.at}/${name}`;
    const stats = await lstat(join(root, path)).catch(() => undefined);
    if (stats?.isDirectory())
      return { at: path, rest: '', trusted: above.trusted && isProtectedDirectory(stats), stats };
    if (!stats?.isSymbolicLink() || links >= MAX_LINKS || !isFollowed(stats, above)) return unresolved;
    const target = await readlink(join(root, path)).catch(() => undefined);
    const found = target === undefined ? undefined : await follow(above, target, links + 1);
    return found?.rest === '' ? found : unresolved;
  };

  const follow = async (above: Dir, target: string, links: number): Promise<Dir | undefined> => {
    const inside = isAbsolute(target) ? await belowRoot(root, target) : target;
    if (inside === undefined) return undefined;
    let here = isAbsolute(target) ? await resolve('/', links) : above;
    for (const { name } of componentsOf(inside)) {
      if (name !== '..') here = await enter(here, name, links);
      else if (here.at !== '') here = await resolve(dirname(here.at), links);
      else if (root !== '/') return undefined;
      if (here.rest !== '') return undefined;
    }
    return here;
  };

  /** The one name of a directory that bind mounts show in several places. */
  const oneName = async (at: string, stats: Stats): Promise<string> => {
    const before = named.get(at);
    if (before !== undefined) return before;
    mounts ??= await readMounts();
    realRoot ??= (await realpath(root)).replace(/\/$/, '');
    const own = `${realRoot}${at}` || '/';
    let found = own;
    for (const name of namesByMounts(mounts, own)) {
      if (name !== own && name !== realRoot && !name.startsWith(`${realRoot}/`)) continue;
      const other = name === own ? stats : await lstat(name).catch(() => undefined);
      if (other?.dev !== stats.dev || other.ino !== stats.ino) continue;
      found = name;
      break;
    }
    const inside = found === '/' ? '' : found.slice(realRoot.length);
    named.set(at, inside);
    return inside;
  };

  const folder = async (path: string): Promise<string> => {
    const { at, rest, stats } = await resolve(path, 0);
    return `${await oneName(at, stats)}${rest}` || '/';
  };
  return {
    folder,
    file: async (path) => (path === '/' ? path : join(await folder(dirname(path)), basename(path))),
  };
};
