import { formatError } from '#bundles/errors';
import { formatCount } from '#bundles/format-count';
import type { ClusterComparison } from './compare/compare-platform.ts';
import type { ImportReport } from './import-repository.ts';
import type { NoteKind } from './imported.ts';
import { NOTE_TITLES, noteLine } from './write/describe-notes.ts';

/** Whether all objects of all clusters are equal, and nothing is left to decide. */
export const isComplete = ({ notes, clusters }: ImportReport): boolean =>
  notes.every(({ kind }) => kind === 'told' || kind === 'changed') &&
  clusters.every(
    ({ objects, charts, held }) =>
      held.length === 0 && [...objects, ...charts].every(({ state }) => state === 'equal'),
  );

/** The report as lines for a person. */
export const describeImport = (report: ImportReport, to: string): readonly string[] => [
  ...report.clusters.flatMap(describeCluster),
  ...(Object.keys(NOTE_TITLES) as NoteKind[]).flatMap((kind) => describeKind(report, kind)),
  `${to}: ${formatCount(report.workloads, 'workload')} in ${formatCount(report.files.length, 'file')} written. Secrets were not copied in clear.`,
  `Next: cd ${to} && fleet-scheduler images lock && fleet-scheduler validate`,
];

/** Notes that change nothing are in IMPORT.md only. */
const describeKind = ({ notes }: ImportReport, kind: NoteKind): readonly string[] => {
  const own = notes.filter((note) => note.kind === kind);
  if (own.length === 0) return [];
  const title = `${NOTE_TITLES[kind]}: ${formatCount(own.length, 'note')}`;
  return kind === 'told' ? [`${title}, in IMPORT.md`] : [title, ...own.map((note) => `  ${noteLine(note)}`)];
};

const describeCluster = ({
  cluster,
  environment,
  objects,
  charts,
  held,
}: ClusterComparison): readonly string[] => {
  const count = (state: string): number => objects.filter((one) => one.state === state).length;
  const kept = objects.filter(({ withoutValues }) => withoutValues).length;
  const equal = charts.filter(({ state }) => state === 'equal').length;
  return [
    `${environment}/${cluster}: ${count('equal')} objects equal, ${count('different')} different, ${count('missing')} missing, ${count('extra')} extra${kept > 0 ? `; values of ${formatCount(kept, 'Secret')} not compared` : ''}`,
    ...(charts.length > 0
      ? [
          `  ${formatCount(charts.length, 'chart')} from elsewhere, compared by reference and values: ${equal} equal, ${charts.length - equal} different`,
        ]
      : []),
    ...objects
      .filter(({ state }) => state !== 'equal')
      .map(
        ({ state, object, workload, fields = [] }) =>
          `  ${state}: ${object} (${workload})${fields.length > 0 ? `: ${fields.join(', ')}` : ''}`,
      ),
    ...charts
      .filter(({ state }) => state !== 'equal')
      .map(
        ({ chart, workload, fields }) => `  different: chart ${chart} (${workload}): ${fields.join(', ')}`,
      ),
    ...held.map(
      ({ workload, error }) => `  held: ${workload === '' ? '' : `${workload}: `}${formatError(error)}`,
    ),
  ];
};
