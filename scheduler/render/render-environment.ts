import type { Platform } from '../platform/model.ts';
import { type Schedule, schedulePlatform } from '../schedule/schedule-platform.ts';
import { type RenderResult, renderPlatform } from './render-platform.ts';
import { keptFolders, renderTree, type Tree } from './render-tree.ts';

/** The GitOps tree of an environment, and what could not be rendered for it. */
export type RenderedEnvironment = {
  readonly platform: Platform;
  readonly schedule: Schedule;
  readonly result: RenderResult;
  readonly tree: Tree;
  /** '<cluster type>/<target>' that an earlier tree has and that stays, because it is only held. */
  readonly isKept: (folder: string) => boolean;
};

/** Schedules and renders. Pure. */
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
