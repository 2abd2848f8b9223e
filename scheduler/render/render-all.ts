import { setImmediate } from 'node:timers/promises';
import type { Digest } from '#bundles/digest';
import { rememberPackages, type RenderMemory } from './remember-packages.ts';
import type { ClusterType, HeldAssignment, Platform, RenderedPackage } from '../model/model.ts';
import type { Schedule } from '../plan/schedule/schedule-platform.ts';
import { createRenderer, isHeld } from './create-renderer.ts';
import type { RenderResult } from './render-platform.ts';
import type { TypeDigests } from './type-digests.ts';

/** Assignments rendered between two pauses: a few milliseconds of work. */
const PAUSE = 250;

export type Before = {
  /** Packages in it whose inputs have not changed are not rendered again. */
  readonly memory?: RenderMemory | undefined;
  /** Whether an earlier run rendered a cluster type from these inputs, held nothing, and found no definition of a kind. */
  readonly isKnown?: ((rendering: Digest) => boolean) | undefined;
};

/**
 * Like `renderPlatform`, but pauses regularly so that a server can respond.
 * @throws the signal's reason when it is aborted
 */
export const renderAll = async (
  platform: Platform,
  schedule: Schedule,
  signal: AbortSignal,
  { memory, isKnown }: Before = {},
): Promise<RenderResult> => {
  const known = memory && rememberPackages(platform, memory);
  const { render, digestsOf } = createRenderer(platform, memory, known);
  const packages: RenderedPackage[] = [];
  const held: HeldAssignment[] = [...schedule.held];
  const digests = isKnown && new Map<ClusterType, TypeDigests>();
  let at = 0;
  for (const [clusterType, assignments] of Map.groupBy(schedule.assignments, (one) => one.clusterType)) {
    const inputs = digests && digestsOf(clusterType, assignments);
    if (inputs) digests.set(clusterType, inputs);
    const isLater = inputs !== undefined && isKnown?.(inputs.rendering) === true;
    for (const assignment of assignments) {
      if (at++ % PAUSE === 0) {
        signal.throwIfAborted();
        await setImmediate();
      }
      const rendered = render(assignment, isLater);
      if (isHeld(rendered)) held.push(rendered);
      else packages.push(rendered);
    }
  }
  known?.forgetOthers();
  return { packages, held, digests };
};
