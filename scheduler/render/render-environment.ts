import type { Platform } from '../model/model.ts';
import { type Schedule, schedulePlatform } from '../plan/schedule/schedule-platform.ts';
import { type RenderResult, renderPlatform } from './render-platform.ts';
import { keptFolders, renderTree, type Tree } from './render-tree.ts';

/** The GitOps tree of an environment, and the assignments that could not be rendered. */
export type RenderedEnvironment = {
  readonly platform: Platform;
  readonly schedule: Schedule;
  readonly result: RenderResult;
  readonly tree: Tree;
  /** Whether an earlier tree's folder '<cluster type>/<target>' stays, because the assignment is only held. */
  readonly isKept: (folder: string) => boolean;
};

/** Schedules and renders an environment. Pure. */
export const renderEnvironment = (platform: Platform): RenderedEnvironment => {
  const schedule = schedulePlatform(platform);
  const result = renderPlatform(platform, schedule);
  return {
    platform,
    schedule,
    result,
    tree: renderTree(platform, result),
    isKept: keptFolders(platform, result),
  };
};
