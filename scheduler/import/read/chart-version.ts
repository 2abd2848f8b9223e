import type { Place } from '#bundles/errors';
import type { ChartSource, Given } from '../imported.ts';
import type { NoteBook } from './notes.ts';

/** An exact version, as Helm takes it. */
const EXACT = /^v?\d+\.\d+\.\d+(?:[-+][0-9A-Za-z.+-]+)?$/;

type Elsewhere = Extract<ChartSource, { from: 'elsewhere' }>;

/** A chart with the version of the command line where the repository has a range. A range that stays is a note. */
export const withVersion = (
  chart: Elsewhere,
  {
    given,
    at,
    subject,
    notes,
  }: { readonly given: Given; readonly at: Place; readonly subject: string; readonly notes: NoteBook },
): Elsewhere => {
  const version = EXACT.test(chart.version)
    ? chart.version
    : (given.chartVersions.get(chart.chart) ?? chart.version);
  if (!EXACT.test(version))
    notes.add('decide', at, subject, {
      what: `the chart ${chart.chart} has ${version === '' ? 'no version' : `the range ${version}`}, and a release names one exactly`,
      todo: 'Write the version that runs (helm list shows it) into workload.yaml, or import with --chart-version <chart>=<version>',
    });
  return { ...chart, version };
};
