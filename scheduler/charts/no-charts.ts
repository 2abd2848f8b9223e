import { FleetError } from '#bundles/errors';
import { chartKey, type FetchChart } from './charts.ts';

/** For who reaches no registry: only charts that lie in repositories, or were fetched before, can be rendered. */
export const noCharts: FetchChart = async (reference) => {
  throw new FleetError('SOURCE_UNREACHABLE', `the chart ${chartKey(reference)} is not fetched here`, {
    hint: 'fleet-scheduler build and images lock fetch it, and it is kept in the cache',
  });
};
