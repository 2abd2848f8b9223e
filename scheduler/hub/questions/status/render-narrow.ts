import { formatChannel } from '#bundles/names';
import type { Table } from '#cli/format-table';
import { healthText } from '../../ingest/reports/facts.ts';
import { formatAge } from './format-age.ts';
import { isQuiet } from './attention.ts';
import { heardText } from './render-table.ts';
import type { Row } from '../state/what-runs-where.ts';

const HEADINGS = ['  STATE', 'ASSIGNMENT', 'WANTED', 'HEALTH', 'SEEN'];

/** A line per agent, followed by its assignments, each with state, desired release, health and when the agent last compared it. */
export const renderNarrow = (rows: readonly Row[], now: Date): readonly [Table] => {
  let before = '';
  const lines = rows.flatMap((row) => {
    const agent = `${row.site}/${row.agent}`;
    const isSame = agent === before;
    before = agent;
    return [...(isSame ? [] : [agentLine(row, now)]), cellsOf(row, now)];
  });
  return [{ head: HEADINGS, rows: lines }];
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

/** 'plant-7/press-1, prod/kiosk, heard 2 h ago' */
const agentLine = (row: Row, now: Date): string => {
  const heard = heardText(row, now);
  return [
    `${row.site}/${row.agent}`,
    formatChannel(row.channel),
    ...(row.follower === null ? [] : [`by ${row.follower}, unsigned`]),
    heard === undefined ? 'never heard' : `heard ${heard}`,
    ...(row.silent ? ['silent'] : []),
    ...(row.stopped ? ['service stopped'] : []),
    ...(row.held === null ? [] : ['held']),
    ...(row.freshness === 'late' || row.freshness === 'stale' ? [row.freshness] : []),
  ].join(', ');
};
