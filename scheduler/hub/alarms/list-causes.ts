import { compareBytes } from '#bundles/digest';
import type { AlarmCauses } from '#bundles/schemas/types/hub-decisions';
import { bySeverity, SEVERITIES, type Severity } from '../../model/severity.ts';
import { cutPage, decodeCursor, type Page } from '../page.ts';
import type { Database } from '../store/tables.ts';
import { ALARMS } from './alarm.ts';
import { type AlarmsAsked, handledBy, readSelected } from './list-alarms.ts';
import { type Handling, readHandling } from './read-handling.ts';

/** The open alarms that have one cause. */
export type Cause = AlarmCauses['causes'][number];

const FIRST_SITES = 5;

/**
 * Lists a page of the causes of open alarms: those with notices before silent ones, the worst first, then those with the most alarms.
 * @throws FleetError USAGE for the cursor
 */
export const listCauses = async (
  db: Database,
  asked: AlarmsAsked,
  { limit, cursor }: Page,
  now: Date,
): Promise<Omit<AlarmCauses, 'at'>> => {
  const selected = await readSelected(db, asked);
  const handling = await readHandling(db, now);
  const groups = Map.groupBy(selected, ({ row }) => row.cause_id ?? row.id);
  const causes = [...groups]
    .map(([id, members]) => ({ key: keyOf(id, members, handling), id, members }))
    .toSorted((a, b) => order(a.key, b.key));
  const after = cursor === undefined ? undefined : decodeCursor(cursor, [0, 0, 0, ''] as const);
  const rest = causes.filter(({ key }) => after === undefined || order(key, after) > 0);
  const { rows, next } = cutPage(rest.slice(0, limit + 1), limit, ({ key }) => key);
  return {
    total: causes.length,
    alarms: selected.length,
    causes: rows.map(({ id, members }) => causeOf(id, members, handling)),
    next,
  };
};

type Members = Awaited<ReturnType<typeof readSelected>>;
type Key = readonly [silent: number, severity: number, alarms: number, id: string];

const keyOf = (id: string, members: Members, handling: Handling): Key => [
  members.every(({ row }) => handling.silenceOf(row) !== undefined) ? 1 : 0,
  -SEVERITIES.indexOf(worstOf(members)),
  -members.length,
  id,
];

const worstOf = (members: Members): Severity =>
  members.map(({ alarm }) => alarm.severity).toSorted(bySeverity)[0] ?? 'info';

const order = (a: Key, b: Key): number =>
  a[0] - b[0] || a[1] - b[1] || a[2] - b[2] || compareBytes(a[3], b[3]);

const causeOf = (id: string, members: Members, handling: Handling): Cause => {
  const byStart = members.map(({ alarm }) => alarm).toSorted((a, b) => compareBytes(a.since, b.since));
  const [first] = byStart;
  const newest = byStart.at(-1);
  if (!first || !newest) throw new TypeError('a cause has an alarm');
  const { kind, cause, subject } = first;
  const sites = [...new Set(byStart.flatMap(({ subject: { site } }) => site ?? []))].toSorted(compareBytes);
  const handled = members.map(({ row }) => handledBy(handling, row));
  const acts = handled.flatMap(({ acknowledged }) => acknowledged ?? []);
  const silences = handled.flatMap(({ silenced }) => silenced ?? []);
  return {
    id,
    kind,
    cause,
    severity: worstOf(members),
    environment: subject.environment ?? null,
    owner: subject.workspace ?? null,
    assignment: subject.assignment ?? null,
    alarms: members.length,
    sites: sites.length,
    firstSites: sites.slice(0, FIRST_SITES),
    since: first.since,
    newest: newest.since,
    summary: newest.summary,
    action: ALARMS[kind] ?? '',
    acknowledged: acts.length,
    silenced: silences.length,
    by: acts.toSorted((a, b) => compareBytes(b.at, a.at))[0] ?? null,
    silence: silences.find(({ target }) => target === id) ?? null,
  };
};
