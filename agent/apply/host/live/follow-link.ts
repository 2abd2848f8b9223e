import { realpath } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { FleetError } from '#bundles/errors';
import type { FoundLink, Held } from './held-directory.ts';
import { isOurs, isShared } from './who-may-change.ts';

/** One name to look up, and the link whose target has it. */
export type Component = { readonly name: string; readonly link?: string };

/** `link` is the link that the path was read from. */
export const componentsOf = (path: string, link?: string): readonly Component[] =>
  path
    .split('/')
    .filter((name) => name !== '' && name !== '.')
    .map((name) => (link === undefined ? { name } : { name, link }));

export type LinkTarget = { readonly absolute: boolean; readonly components: readonly Component[] };

/**
 * Where a link leads, as components still to be walked: from the root where absolute, else from the directory that holds the link.
 * undefined: it leads out of the root.
 *
 * Root's writes go where links lead, so only links count that nobody else can have placed: the link belongs to root or the agent's user,
 * and so does every directory on the way to it (`way`), without others being able to write to it. In /tmp and other sticky
 * directories an entry of root is safe from others; only a hard link to a link of root could be another user's doing.
 * @throws FleetError APPLY_FAILED for a link that is not followed
 */
export const linkTarget = async (
  root: string,
  way: readonly Held[],
  { path, target, stats }: FoundLink,
): Promise<LinkTarget | undefined> => {
  if (!isOurs(stats.uid))
    throw new FleetError(
      'APPLY_FAILED',
      `${path} is a symbolic link that belongs to user ${stats.uid}: not followed`,
      { hint: 'Put a directory in its place, or give the link to root' },
    );
  const changeable = way.find(({ trusted }) => !trusted);
  if (changeable) throw notKept(path, changeable);
  const holder = way.at(-1);
  if (holder && stats.nlink > 1 && isShared(await holder.handle.stat())) throw notKept(path, holder);
  if (!isAbsolute(target)) return { absolute: false, components: componentsOf(target, path) };
  const inside = await belowRoot(root, target);
  return inside === undefined ? undefined : { absolute: true, components: componentsOf(inside, path) };
};

const notKept = (link: string, directory: Held): FleetError => {
  const name = directory.path || '/';
  return new FleetError(
    'APPLY_FAILED',
    `${link} is a symbolic link in a directory that others can change (${name}): not followed`,
    { hint: `Put a directory in its place, or run chown root and chmod go-w on ${name}` },
  );
};

/** An absolute link in a host whose '/' is a folder names a path of the machine. */
const belowRoot = async (root: string, target: string): Promise<string | undefined> => {
  if (root === '/') return target;
  const base = [resolve(root), await realpath(root)].find(
    (folder) => target === folder || target.startsWith(`${folder}/`),
  );
  return base === undefined ? undefined : target.slice(base.length);
};
