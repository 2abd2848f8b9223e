import type { Stats } from 'node:fs';
import { realpath } from 'node:fs/promises';
import { isAbsolute, resolve } from 'node:path';
import { FleetError } from '#bundles/errors';
import type { FoundLink, OpenDirectory } from './held-directory.ts';
import { isOwnedByUs, isWritableByOthers } from '#bundles/file-protection';

/** One path component to look up, and the link whose target contains it. */
export type Component = { readonly name: string; readonly link?: string };

/** `link` is the symbolic link whose target contains the path. */
export const componentsOf = (path: string, link?: string): readonly Component[] =>
  path
    .split('/')
    .filter((name) => name !== '' && name !== '.')
    .map((name) => (link === undefined ? { name } : { name, link }));

/** The limit of Linux for symbolic links in one path (path_resolution(7)). */
export const MAX_LINKS = 40;

/**
 * The rule of linkTarget, for a reader that only names what is there.
 * @param holder the directory of the link
 */
export const isFollowed = (
  link: Pick<Stats, 'uid' | 'nlink'>,
  holder: { readonly trusted: boolean; readonly stats: Stats },
): boolean =>
  isOwnedByUs(link.uid) && holder.trusted && !(link.nlink > 1 && isWritableByOthers(holder.stats));

export type LinkTarget = { readonly absolute: boolean; readonly components: readonly Component[] };

/**
 * Returns the target of a link as components to walk: from the root if it is absolute, otherwise from the directory of the link.
 * undefined: the target is outside of the root.
 *
 * Root's writes follow links, so a link is followed only if no other user can have placed it: the link and every directory on the way
 * to it (`way`) belong to root or the agent's user, and others cannot write to them. In sticky directories such as /tmp others cannot
 * replace an entry of root, but they can place a hard link to a link of root.
 * @throws FleetError APPLY_FAILED for a link that is not followed
 */
export const linkTarget = async (
  root: string,
  way: readonly OpenDirectory[],
  { path, target, stats }: FoundLink,
): Promise<LinkTarget | undefined> => {
  if (!isOwnedByUs(stats.uid))
    throw new FleetError(
      'APPLY_FAILED',
      `${path} is a symbolic link that belongs to user ${stats.uid}: not followed`,
      { hint: 'Put a directory in its place, or give the link to root' },
    );
  const changeable = way.find(({ trusted }) => !trusted);
  if (changeable) throw unsafeLinkError(path, changeable);
  const holder = way.at(-1);
  if (holder && stats.nlink > 1 && isWritableByOthers(await holder.handle.stat()))
    throw unsafeLinkError(path, holder);
  if (!isAbsolute(target)) return { absolute: false, components: componentsOf(target, path) };
  const inside = await belowRoot(root, target);
  return inside === undefined ? undefined : { absolute: true, components: componentsOf(inside, path) };
};

const unsafeLinkError = (link: string, directory: OpenDirectory): FleetError => {
  const name = directory.path || '/';
  return new FleetError(
    'APPLY_FAILED',
    `${link} is a symbolic link in a directory that others can change (${name}): not followed`,
    { hint: `Put a directory in its place, or run chown root and chmod go-w on ${name}` },
  );
};

/** With another root than '/', an absolute link names a path of this machine. */
export const belowRoot = async (root: string, target: string): Promise<string | undefined> => {
  if (root === '/') return target;
  const base = [resolve(root), await realpath(root)].find(
    (folder) => target === folder || target.startsWith(`${folder}/`),
  );
  return base === undefined ? undefined : target.slice(base.length);
};
