import { formatChannel } from '#bundles/names';
import { healthText } from '../../ingest/reports/facts.ts';
import { formatAge } from './format-age.ts';
import { isQuiet } from './attention.ts';
import { heardText, plainCell } from './render-table.ts';
import type { Row } from '../state/what-runs-where.ts';

const COLUMNS = 80;
const GAP = '  ';
const HEADINGS = ['  STATE', 'ASSIGNMENT', 'WANTED', 'HEALTH', 'SEEN'];
/** Index of ASSIGNMENT, the only column that is shortened to fit. */
const NAMES = 1;

/**
 * The table in 80 columns: a line per agent, followed by its assignments, each with state, desired release, health and when
 * the agent last compared it. Long assignment names are shortened.
 */
export const renderNarrow = (rows: readonly Row[], now: Date): readonly string[] => {
  const cells = rows.map((row) => cellsOf(row, now).map(plainCell));
  const widths = HEADINGS.map((heading, column) =>
    Math.max(heading.length, ...cells.map((row) => row[column]?.length ?? 0)),
  );
  const others = widths.reduce((sum, width, column) => sum + (column === NAMES ? 0 : width + GAP.length), 0);
  widths[NAMES] = Math.max(HEADINGS[NAMES]?.length ?? 0, Math.min(widths[NAMES] ?? 0, COLUMNS - others));
  const line = (row: readonly string[]): string =>
    row
      .map((text, column) => fit(text, widths[column] ?? 0))
      .join(GAP)
      .trimEnd();
  const lines = [line(HEADINGS)];
  let before = '';
  for (const [at, row] of rows.entries()) {
    const agent = `${row.site}/${row.agent}`;
    if (agent !== before) lines.push(...agentLines(row, now));
    before = agent;
    lines.push(line(cells[at] ?? []));
  }
  return lines;
};

const cellsOf = (row: Row, now: Date): readonly string[] => [
  `${isQuiet(row) ? ' ' : '!'} ${row.verdict}`,
  row.assignment ?? '-',
  row.desired ? `r${row.desired.version}` : '-',
  row.health ? healthText(row.health) : '-',
  seenAt(row, now),
];

/** When the agent last looked, and not when something last happened: that may be long ago, and all is well since. */
const seenAt = ({ running, health, saidAt }: Row, now: Date): string =>
  (running === null && health === null) || saidAt === null ? '-' : formatAge(saidAt, now);

/** 'plant-7/press-1, prod/kiosk, heard 2 h ago', wrapped to 80 columns. */
const agentLines = (row: Row, now: Date): readonly string[] => {
  const heard = heardText(row, now);
  const words = [
    `${row.site}/${row.agent}`,
    formatChannel(row.channel),
    ...(row.follower === null ? [] : [`by ${row.follower}, unsigned`]),
    heard === undefined ? 'never heard' : `heard ${heard}`,
    ...(row.silent ? ['silent'] : []),
    ...(row.stopped ? ['service stopped'] : []),
    ...(row.held === null ? [] : ['held']),
    ...(row.freshness === 'late' || row.freshness === 'stale' ? [row.freshness] : []),
  ];
  const lines: string[] = [];
  for (const word of words) {
    const longer = `${lines.at(-1)}, ${word}`;
    if (lines.length > 0 && longer.length <= COLUMNS) lines[lines.length - 1] = longer;
    else lines.push(word);
  }
  return lines;
};

const fit = (text: string, width: number): string =>
  (text.length <= width ? text : `${text.slice(0, Math.max(0, width - 3))}...`).padEnd(width);
