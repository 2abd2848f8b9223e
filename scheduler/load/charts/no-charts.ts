import { FleetError } from '#bundles/errors';
import { chartKey, type FetchChart } from './charts.ts';

/**
 * Refuses to fetch: without a registry only charts in repositories and cached charts can be rendered.
 * @throws FleetError SOURCE_UNREACHABLE
 */
export const noCharts: FetchChart = async (reference) => {
  throw new FleetError('SOURCE_UNREACHABLE', `the chart ${chartKey(reference)} is not fetched here`, {
    hint: 'fleet-scheduler build and images lock fetch it, and it is kept in the cache',
  });
};
