import type { Assignment, Platform } from '../platform/model.ts';
import type { RenderResult } from './render-platform.ts';

/** Files by path relative to the tree's root, in byte order of the path. */
export type Tree = ReadonlyMap<string, Buffer>;

/** What Kalypso writes into every cluster type's folder, without a line end; by it a folder is known to be ours. */
export const README = 'This folder contains deployment targets scheduled on the cluster type';

export const TRACKING_FILE = '.github/tracking/Promoted_Commit_Id';

/** The GitOps tree of an environment (behaviour spec 3.1): a folder a cluster type, in it one a deployment target. */
export const renderTree = (platform: Platform, result: Pick<RenderResult, 'packages'>): Tree => {
  const files: [string, Buffer][] = [];
  if (platform.promotedCommit !== undefined)
    files.push([TRACKING_FILE, Buffer.from(platform.promotedCommit)]);
  for (const clusterType of platform.clusterTypes)
    files.push([`${clusterType.name}/README.md`, Buffer.from(README)]);
  for (const { assignment, files: own } of result.packages) {
    const folder = `${assignment.clusterType.name}/${assignment.target.name}`;
    for (const file of own) files.push([`${folder}/${file.path}`, file.bytes]);
  }
  // Paths are DNS labels and fixed names: their order as strings is the order of their bytes.
  return new Map(files.toSorted(([a], [b]) => (a < b ? -1 : Number(a > b))));
};

/**
 * Folders of an earlier tree that are not stale, whatever is not in the new one: those of held assignments and, while an
 * application cannot be read, of all targets that nobody knows. A reconciler would take the application away for it.
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
