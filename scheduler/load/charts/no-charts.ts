import { FleetError } from '#bundles/errors';
import { chartKey, type FetchChart } from './charts.ts';

/**
 * Refuses to fetch: without a registry only charts in repositories and cached charts can be rendered.
 * @throws FleetError SOURCE_UNREACHABLE
 */
export const noCharts: FetchChart = async (reference) => {
  throw new FleetError('SOURCE_UNREACHABLE', `the chart ${chartKey(reference)} is not fetched here`, {
    hint: 'Run fleet-scheduler build or images lock here: they fetch it into the cache, which keeps it until no run has used it for 30 days',
  });
};
