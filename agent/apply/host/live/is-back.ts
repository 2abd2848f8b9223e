import type { Replaced } from '../owned-state.ts';
import type { Entry } from './read-entry.ts';

/** Is the thing at a path already what stood there before us? Who is not root could not have given the owner back. */
export const isBack = (live: Entry, replaced: Replaced, isRoot: boolean): boolean => {
  if (replaced.type === 'link') return live.type === 'link' && live.target === replaced.target;
  if (live.type !== 'file' || live.digest !== replaced.digest || live.mode !== replaced.mode) return false;
  return !isRoot || (live.uid === replaced.uid && live.gid === replaced.gid);
};
