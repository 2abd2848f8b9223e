import { setImmediate } from 'node:timers/promises';
import { rememberPackages, type RenderMemory } from './remember-packages.ts';
import type { HeldAssignment, Platform, RenderedPackage } from '../model/model.ts';
import type { Schedule } from '../plan/schedule/schedule-platform.ts';
import { createRenderer, isHeld } from './create-renderer.ts';
import type { RenderResult } from './render-platform.ts';

/** Assignments rendered between two pauses: a few milliseconds of work. */
const PAUSE = 250;

/**
 * Like `renderPlatform`, but pauses regularly so that a server can respond. Packages in `memory` whose inputs have not
 * changed are not rendered again.
 * @throws the signal's reason when it is aborted
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
