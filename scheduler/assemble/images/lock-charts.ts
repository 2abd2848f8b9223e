import { compareBytes } from '#bundles/digest';
import { FleetError, type Place, toFleetError } from '#bundles/errors';
import { type ChartReference, manifestSettings } from '../../load/charts/manifest-settings.ts';
import { bundlesApplication } from '../../load/applications/read-application.ts';
import type { ChartPlaces } from '../../load/charts/chart-places.ts';
import { chartKey } from '../../load/charts/charts.ts';
import type { Platform } from '../../model/model.ts';
import { toProblem } from '../../model/problems.ts';
import { withPlace } from '../../model/with-place.ts';
import { schedulePlatform } from '../../plan/schedule/schedule-platform.ts';
import type { LockOutcome } from './lock-images.ts';
import type { LockedImage } from './image-lock.ts';

export type WantedChart = { readonly reference: ChartReference; readonly at: Place };

/** Every external chart that a deployment target of these environments uses, sorted. */
export const collectCharts = (
  platforms: readonly Platform[],
): { readonly charts: readonly WantedChart[]; readonly problems: readonly FleetError[] } => {
  const charts = new Map<string, WantedChart>();
  const problems: FleetError[] = [];
  const targets = new Set(
    platforms.flatMap((platform) =>
      schedulePlatform(platform)
        .assignments.filter(
          ({ clusterType }) => clusterType.target === 'kubernetes' && bundlesApplication(clusterType),
        )
        .map(({ target }) => target),
    ),
  );
  for (const target of targets) {
    try {
      const { chart } = manifestSettings(target);
      if (chart) charts.set(chartKey(chart), { reference: chart, at: target.at });
    } catch (error) {
      problems.push(toFleetError(error));
    }
  }
  return {
    charts: [...charts].toSorted(([a], [b]) => compareBytes(a, b)).map(([, it]) => it),
    problems,
  };
};

/** Finds the digest of every chart without one. @param renew whether a locked chart is looked up again */
export const lockCharts = async (
  wanted: readonly WantedChart[],
  locks: ReadonlyMap<string, string>,
  places: Pick<ChartPlaces, 'resolve'> | undefined,
  renew: (key: string) => boolean,
  signal: AbortSignal,
): Promise<LockOutcome> => {
  const locked: LockedImage[] = [];
  const problems: FleetError[] = [];
  for (const { reference, at } of wanted) {
    const key = chartKey(reference);
    const before = locks.get(key);
    if (before !== undefined && !renew(key)) {
      locked.push({ image: key, before, after: before });
      continue;
    }
    try {
      if (!places) throw notAsked(key);
      locked.push({
        image: key,
        before,
        after: `${reference.chart}@${await places.resolve(reference, signal)}`,
      });
    } catch (error) {
      problems.push(withPlace(toProblem(error, `looking for ${key}`), at));
    }
  }
  return { locked, problems };
};

const notAsked = (key: string): FleetError =>
  new FleetError('CHART_UNPINNED', `the chart ${key} has no digest, and no registry is asked`, {
    hint: 'Run it again where the registry can be reached',
  });
