import { cachedCharts } from './chart-cache.ts';
import { type Charts, openCharts } from './charts.ts';
import { noCharts } from './no-charts.ts';

/** Only charts that were fetched before. @param directory the scheduler's cache */
export const knownCharts = (directory: string): Charts => openCharts(cachedCharts(directory, noCharts));
