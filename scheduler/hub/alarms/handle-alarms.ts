import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { canonicalJson } from '#bundles/json/canonical';
import { parseJson } from '#bundles/json/parse-json';
import type { AlarmHandled, AlarmSubject } from '#bundles/schemas/types/hub-decisions';
import { addDays, formatTime, type Timestamp } from '#bundles/time';
import { checkReason } from '../../release/audit/decide.ts';
import { noteChange } from '../changes/note-change.ts';
import type { OpenAlarmRow } from '../store/alarm-rows.ts';
import type { Store } from '../store/open-store.ts';
import { parts } from '../store/parts.ts';
import type { Tx } from '../store/tables.ts';
import { alarmOf } from './keep-alarms.ts';
import { readHandling, readSilences } from './read-handling.ts';

/** Upper bound of a silence, in days: an alarm that nobody needs is ended by its cause or its policy. */
const MAX_DAYS = 90;

/** Description of a target, for people and for the audit log. */
export type AboutAlarms = Omit<AlarmHandled, 'target' | 'alarms' | 'until'>;

export type HandleRequest = {
  /** Id of an open alarm, or of a cause: then all of its open alarms. */
  readonly target: string;
  readonly person: string;
  readonly reason: string;
  readonly now: Date;
  /** Whether the caller knows of alarms with this subject; without it all. */
  readonly sees?: (subject: AlarmSubject) => boolean;
  /** Throws where the caller may not handle alarms with this subject. */
  readonly check?: (subject: AlarmSubject) => void;
};

export type Handled = Omit<AlarmHandled, 'until'>;

/**
 * Notes that a person works on an alarm, or on all alarms of a cause that nobody works on yet: receivers get no repetitions of these. It ends
 * with each alarm.
 * @throws FleetError ALARM_MISSING, ALARM_HANDLED where somebody else works on all of them, USAGE for the reason; as `check`
 */
export const acknowledgeAlarms = (store: Store, request: HandleRequest): Promise<Handled> =>
  store.transact(async (tx) => {
    const { target, person, now } = request;
    const reason = checkReason(request.reason);
    const rows = await findTarget(tx, request);
    const handling = await readHandling(tx, now);
    const free = rows.filter((row) => handling.acknowledgementOf(row) === undefined);
    const [first] = rows.map((row) => handling.acknowledgementOf(row));
    if (free.length === 0 && first)
      throw new FleetError(
        'ALARM_HANDLED',
        `${first.person} acknowledged this at ${first.at}: ${first.reason}`,
        { subject: target, hint: 'Agree with them; fleet-scheduler alarms end takes it back' },
      );
    for (const part of parts(free))
      await tx
        .insertInto('alarm_acknowledged')
        .values(
          part.map(({ id, opened_at }) => ({ alarm: id, opened_at, person, reason, at: formatTime(now) })),
        )
        // An acknowledgement of an earlier episode of the alarm.
        .onConflict((conflict) =>
          conflict.column('alarm').doUpdateSet(({ ref }) => ({
            opened_at: ref('excluded.opened_at'),
            person: ref('excluded.person'),
            reason: ref('excluded.reason'),
            at: ref('excluded.at'),
          })),
        )
        .execute();
    const handled = { target, ...aboutOf(free), alarms: free.length };
    await note(tx, 'alarms acknowledge', { old: null, new: handled }, request);
    return handled;
  });

/**
 * Stops notices about an alarm, or about all present and later alarms of its cause, until a time.
 * @throws FleetError ALARM_MISSING, ALARM_HANDLED where a silence is in force, USAGE for the time or the reason; as `check`
 */
export const silenceAlarms = (
  store: Store,
  { until, ...request }: HandleRequest & { readonly until: Date },
): Promise<Handled & { readonly until: Timestamp }> =>
  store.transact(async (tx) => {
    const { target, person, now } = request;
    const reason = checkReason(request.reason);
    if (Number.isNaN(until.getTime()) || until <= now)
      throw new FleetError('USAGE', 'a silence ends in the future', { subject: 'until' });
    if (until > addDays(now, MAX_DAYS))
      throw new FleetError('USAGE', `a silence lasts at most ${MAX_DAYS} days`, {
        subject: 'until',
        hint: 'Correct the cause, or the policy that raises the alarm',
      });
    const rows = await findTarget(tx, request);
    const handling = await readHandling(tx, now);
    const [known] = rows.flatMap((row) => {
      const silence = handling.silenceOf(row);
      return silence && (silence.target === target || silence.target === row.cause_id) ? [silence] : [];
    });
    if (known)
      throw new FleetError(
        'ALARM_HANDLED',
        `${known.person} silenced this until ${known.until_at}: ${known.reason}`,
        { subject: known.target, hint: 'End that silence first: fleet-scheduler alarms end' },
      );
    const about = aboutOf(rows);
    const at = formatTime(now);
    const row = { target, at, about: canonicalJson(about), person, reason, until_at: formatTime(until) };
    await tx
      .insertInto('alarm_silence')
      .values({ ...row, ended_at: null, ended_by: null })
      // A silence of the same target that began and was ended in this second.
      .onConflict((conflict) =>
        conflict.columns(['target', 'at']).doUpdateSet({ ...row, ended_at: null, ended_by: null }),
      )
      .execute();
    const handled = { target, ...about, alarms: rows.length, until: row.until_at };
    await note(tx, 'alarms silence', { old: null, new: handled }, request);
    return handled;
  });

/**
 * Takes back the acknowledgements and the silence of a target, also of a silence whose alarms are over.
 * @throws FleetError ALARM_MISSING for a target without an acknowledgement and without a silence in force, USAGE for the reason; as `check`
 */
export const endHandling = (store: Store, request: HandleRequest): Promise<Handled> =>
  store.transact(async (tx) => {
    const { target, person, now, sees = () => true, check } = request;
    checkReason(request.reason);
    const rows = await findOpen(tx, request);
    const handling = await readHandling(tx, now);
    const acknowledged = rows.filter((row) => handling.acknowledgementOf(row) !== undefined);
    const silence = (await readSilences(tx, now)).find((row) => row.target === target);
    const silenced = silence && (parseJson(silence.about) as AboutAlarms);
    if (acknowledged.length === 0 && !(silenced && sees(subjectOf(silenced))))
      throw new FleetError('ALARM_MISSING', 'this has no acknowledgement and no silence that is in force', {
        subject: target,
        hint: 'See: fleet-scheduler alarms',
      });
    for (const row of acknowledged) check?.(alarmOf(row).subject);
    if (silenced) check?.(subjectOf(silenced));
    for (const part of parts(acknowledged.map(({ id }) => id)))
      await tx.deleteFrom('alarm_acknowledged').where('alarm', 'in', part).execute();
    if (silence)
      await tx
        .updateTable('alarm_silence')
        .set({ ended_at: formatTime(now), ended_by: person })
        .where('target', '=', target)
        .where('at', '=', silence.at)
        .execute();
    const about = silenced ?? aboutOf(acknowledged);
    const old = { target, ...about, alarms: acknowledged.length, until: silence?.until_at ?? null };
    await note(tx, 'alarms end', { old, new: null }, request);
    return { target, ...about, alarms: acknowledged.length };
  });

/** The open alarms of a target. Alarms that the caller may not see count as missing. @throws FleetError ALARM_MISSING */
const findTarget = async (tx: Tx, request: HandleRequest): Promise<readonly OpenAlarmRow[]> => {
  const rows = await findOpen(tx, request);
  if (rows.length === 0)
    throw new FleetError(
      'ALARM_MISSING',
      `no open alarm or cause has the id ${JSON.stringify(request.target.slice(0, 80))}`,
      { hint: 'See the open ones with: fleet-scheduler alarms' },
    );
  for (const row of rows) request.check?.(alarmOf(row).subject);
  return rows;
};

const findOpen = async (
  tx: Tx,
  { target, sees = () => true }: HandleRequest,
): Promise<readonly OpenAlarmRow[]> =>
  (
    await tx
      .selectFrom('open_alarm')
      .selectAll()
      .where('gone_at', 'is', null)
      .where(({ eb, or }) => or([eb('id', '=', target), eb('cause_id', '=', target)]))
      .orderBy('id')
      .execute()
  ).filter((row) => sees(alarmOf(row).subject));

/** @param rows at least one; the alarms of a cause agree in all of these fields */
const aboutOf = (rows: readonly OpenAlarmRow[]): AboutAlarms => {
  const [row] = rows;
  const { kind = '', cause = '', subject = {} } = row ? alarmOf(row) : {};
  const { environment = null, workspace = null, assignment = null } = subject;
  return { kind, cause, environment, workspace, assignment };
};

const subjectOf = ({ environment, workspace, assignment }: AboutAlarms): AlarmSubject =>
  defined({
    environment: environment ?? undefined,
    workspace: workspace ?? undefined,
    assignment: assignment ?? undefined,
  });

const note = (
  tx: Tx,
  change: 'alarms acknowledge' | 'alarms silence' | 'alarms end',
  states: Pick<Parameters<typeof noteChange>[1], 'old' | 'new'>,
  { target, person, reason, now }: HandleRequest,
) => noteChange(tx, { change, about: target, ...states }, { person, reason }, now);
