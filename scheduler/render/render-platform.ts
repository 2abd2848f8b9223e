import type { ClusterType, HeldAssignment, Platform, RenderedPackage } from '../model/model.ts';
import type { Schedule } from '../plan/schedule/schedule-platform.ts';
import { createRenderer, isHeld } from './create-renderer.ts';
import type { TypeDigests } from './type-digests.ts';

/** All assignments of a schedule, rendered or held, each in the schedule's order. */
export type RenderResult = {
  readonly packages: readonly RenderedPackage[];
  /** Includes those that the schedule held. */
  readonly held: readonly HeldAssignment[];
  /** Inputs of the packages of each cluster type; undefined: not asked for. */
  readonly digests?: ReadonlyMap<ClusterType, TypeDigests> | undefined;
};

/** Renders a schedule. Pure: the same platform gives the same bytes. */
export const renderPlatform = (platform: Platform, schedule: Schedule): RenderResult => {
  const { render } = createRenderer(platform);
  const packages: RenderedPackage[] = [];
  const held: HeldAssignment[] = [...schedule.held];
  for (const assignment of schedule.assignments) {
    const rendered = render(assignment);
    if (isHeld(rendered)) held.push(rendered);
    else packages.push(rendered);
  }
  return { packages, held };
};
