import { loadApplications } from '../../load/applications/load-applications.ts';
import type { PlatformApplications } from '../../load/applications/platform-applications.ts';
import type { Tools } from '../../load/applications/tools/tool.ts';
import type { Charts } from '../../load/charts/charts.ts';
import type { Sources } from '../../load/sources/open-sources.ts';
import type { Assignment, Platform } from '../../model/model.ts';
import { schedulePlatform } from '../../plan/schedule/schedule-platform.ts';
import { renderPlatform } from '../../render/render-platform.ts';

export type RenderPlaces = {
  readonly sources: Sources;
  readonly tools: Tools;
  readonly charts: Charts;
  /** Assignments to render; undefined: all. An environment without one is passed over. */
  readonly isWanted?: (assignment: Assignment) => boolean;
};

/** Plans and renders each environment, and reads the applications that its packages name: one environment at a time is in memory. */
export async function* renderToLock(
  platforms: readonly Platform[],
  { sources, tools, charts, isWanted }: RenderPlaces,
  signal: AbortSignal,
): AsyncGenerator<PlatformApplications> {
  for (const platform of platforms) {
    const schedule = schedulePlatform(platform);
    const assignments = isWanted ? schedule.assignments.filter(isWanted) : schedule.assignments;
    if (isWanted && assignments.length === 0) continue;
    const { packages, held } = renderPlatform(platform, { ...schedule, assignments });
    const applications = await loadApplications({ platform, sources, packages, tools, charts }, signal);
    yield { platform, packages, held: held.map(({ error }) => error), applications };
  }
}
