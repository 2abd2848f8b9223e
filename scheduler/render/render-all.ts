import { setImmediate } from 'node:timers/promises';
import type { RenderMemory } from '../incremental/build-memory.ts';
import { rememberPackages } from '../incremental/remember-packages.ts';
import type { HeldAssignment, Platform, RenderedPackage } from '../platform/model.ts';
import type { Schedule } from '../schedule/schedule-platform.ts';
import { createRenderer, isHeld } from './create-renderer.ts';
import type { RenderResult } from './render-platform.ts';

/** Rendered between two pauses: a few milliseconds of work. */
const PAUSE = 250;

/**
 * `renderPlatform` for who has other things to do: a server answers between two runs of assignments. What `memory` has of
 * an earlier build, from the same inputs, is not rendered again.
 */
export const renderAll = async (
  platform: Platform,
  schedule: Schedule,
  signal: AbortSignal,
  memory?: RenderMemory,
): Promise<RenderResult> => {
  const known = memory && rememberPackages(platform, memory);
  const render = createRenderer(platform, memory, known);
  const packages: RenderedPackage[] = [];
  const held: HeldAssignment[] = [...schedule.held];
  for (const [at, assignment] of schedule.assignments.entries()) {
    if (at % PAUSE === 0) {
      signal.throwIfAborted();
      await setImmediate();
    }
    const rendered = render(assignment);
    if (isHeld(rendered)) held.push(rendered);
    else packages.push(rendered);
  }
  known?.forgetOthers();
  return { packages, held };
};
