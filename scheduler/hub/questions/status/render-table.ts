import { hexOf } from '#bundles/digest';
import { formatChannel } from '#bundles/names';
import { parseTime } from '#bundles/time';
import type { Printed } from '#cli/format-table';
import { healthText } from '../../ingest/reports/facts.ts';
import { ageMarks, isQuiet } from './attention.ts';
import { formatAge } from './format-age.ts';
import type { Aged, Cell, Drift, Health, Row, Running, Source } from '../state/what-runs-where.ts';

const HEADINGS = [
  'SITE/AGENT',
  'CHANNEL',
  'ASSIGNMENT',
  'WANTED',
  'RUNS',
  'HEALTH',
  'DRIFT',
  'HEARD',
  'STATE',
];

/**
 * The table as aligned text. Every reported cell has its age and, in brackets, the number of its report; the list below the
 * table says how and when each report arrived.
 */
export const renderTable = (rows: readonly Row[], now: Date): readonly Printed[] => {
  const sources = new Map<string, { readonly number: number; readonly text: string }>();
  const cite = (row: Row, source: Source): string => {
    const key = `${row.site}/${row.agent} ${source.report}`;
    const known = sources.get(key) ?? {
      number: sources.size + 1,
      text: describeSource(row, source, now),
    };
    sources.set(key, known);
    return `[${known.number}]`;
  };
  const said = <T>(row: Row, cell: Aged<Cell<T>> | null, text: (cell: T) => string): string =>
    cell ? `${text(cell)}, ${formatAge(cell.at, now)} ${cite(row, cell.source)}` : '-';
  const cells = rows.map((row) => [
    `${row.site}/${row.agent}${row.follower === null ? '' : ` (${row.follower})`}`,
    formatChannel(row.channel),
    row.assignment ?? '-',
    row.desired ? `r${row.desired.version} ${hexOf(row.desired.package).slice(0, 12)}` : '-',
    said(row, row.running, describeRunning),
    said(row, row.health, describeHealth),
    said(row, row.drift, describeDrift),
    heardText(row, now) ?? '-',
    `${isQuiet(row) ? '' : '! '}${[row.verdict, ...ageMarks(row)].join(', ')}`,
  ]);
  const notes = [...sources.values()].map(({ number, text }) => `[${number}] ${text}`);
  return [{ head: HEADINGS, rows: cells }, ...(notes.length > 0 ? ['', ...notes] : [])];
};

/** Least difference between arrival and age of an agent's words that is shown: agents look every five minutes. */
const MIN_SHOWN_MS = 15 * 60_000;

/** '2 h ago', or '2 h ago (state of 40 d ago)' if the agent looked longer before; undefined: never heard. */
export const heardText = (
  { heardAt, saidAt }: Pick<Row, 'heardAt' | 'saidAt'>,
  now: Date,
): string | undefined => {
  if (heardAt === null) return undefined;
  const heard = formatAge(heardAt, now);
  const older = saidAt !== null && parseTime(heardAt).getTime() - parseTime(saidAt).getTime() > MIN_SHOWN_MS;
  return older ? `${heard} (state of ${formatAge(saidAt, now)})` : heard;
};

/** Without a release number: a package shared by several releases keeps the number of the first one. */
const describeRunning = ({ package: digest }: Running): string =>
  digest === null ? 'nothing' : hexOf(digest).slice(0, 12);

const describeHealth = (health: Health): string => {
  const word = healthText(health);
  return health.code === null || !SHOWN_OUTCOMES.includes(word) ? word : `${word} ${health.code}`;
};

const SHOWN_OUTCOMES: readonly string[] = ['rolled back', 'failed', 'skipped'];

const describeDrift = ({ drifted }: Drift): string => (drifted ? 'drifted' : 'none');

const describeSource = ({ site, agent }: Row, source: Source, now: Date): string =>
  `${site}/${agent}: report ${source.from}-${source.to} by ${source.by}, received ${formatAge(source.receivedAt, now)}${source.clockTrusted ? '' : '; its clock was not trusted'}`;
