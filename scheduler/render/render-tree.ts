import type { Assignment, Platform } from '../model/model.ts';
import type { RenderResult } from './render-platform.ts';

/** File contents by path relative to the tree's root, ordered bytewise. */
export type Tree = ReadonlyMap<string, Buffer>;

/**
 * Text of the README.md that Kalypso writes into every cluster type's folder, without a line end; it also identifies such a
 * folder.
 */
export const README = 'This folder contains deployment targets scheduled on the cluster type';

export const TRACKING_FILE = '.github/tracking/Promoted_Commit_Id';

/**
 * The GitOps tree of an environment (behaviour spec 3.1): a folder for each cluster type, with a folder for each deployment
 * target.
 */
export const renderTree = (platform: Platform, result: Pick<RenderResult, 'packages'>): Tree => {
  const files: [string, Buffer][] = [];
  if (platform.promotedCommit !== undefined)
    files.push([TRACKING_FILE, Buffer.from(platform.promotedCommit)]);
  for (const clusterType of platform.clusterTypes)
    files.push([`${clusterType.name}/README.md`, Buffer.from(README)]);
  for (const { assignment, files: own } of result.packages) {
    const folder = `${assignment.clusterType.name}/${assignment.target.name}`;
    for (const file of own) files.push([`${folder}/${file.path}`, Buffer.from(file.text)]);
  }
  // Paths consist of DNS labels and fixed names, so string order is byte order.
  return new Map(files.toSorted(([a], [b]) => (a < b ? -1 : Number(a > b))));
};

/**
 * Returns whether a folder of an earlier tree stays although the new tree does not have it: folders of held assignments and,
 * while an application cannot be read, of all unknown targets. Otherwise a reconciler would remove those applications.
 */
export const keptFolders = (
  platform: Platform,
  { packages, held }: RenderResult,
): ((folder: string) => boolean) => {
  const folderOf = ({ assignment: { clusterType, target } }: { assignment: Assignment }): string =>
    `${clusterType.name}/${target.name}`;
  const kept = new Set(held.map(folderOf));
  const rendered = new Set(packages.map(folderOf));
  const someUnread = (platform.heldWorkloads ?? []).length > 0;
  return (folder) => {
    const isTargets = folder.split('/').length === 2;
    return isTargets && (kept.has(folder) || (someUnread && !rendered.has(folder)));
  };
};
