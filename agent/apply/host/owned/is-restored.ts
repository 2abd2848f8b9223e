import type { Replaced } from './owned-state.ts';
import type { Entry } from '../live/read-entry.ts';

/** True if the entry at a path equals the one before the package. Owners are compared only as root, which can restore them. */
export const isRestored = (live: Entry, replaced: Replaced, isRoot: boolean): boolean => {
  if (replaced.type === 'link') return live.type === 'link' && live.target === replaced.target;
  if (live.type !== 'file' || live.digest !== replaced.digest || live.mode !== replaced.mode) return false;
  return !isRoot || (live.uid === replaced.uid && live.gid === replaced.gid);
};
