import { setTimeout } from 'node:timers/promises';
import { FleetError } from '#bundles/errors';
import { formatChannel } from '#bundles/names';
import { DAY_MS, parseTime } from '#bundles/time';
import { openRemoteEvidence } from '../../../keys/remote/remote-key.ts';
import { noteChange } from '../../changes/note-change.ts';
import type { Hub } from '../../hub.ts';
import { channelOf } from '../../sites/agent-record.ts';
import type { AgentRow } from '../../store/tables.ts';
import { type Forgotten, forgetNotes } from './forget-notes.ts';
import { keptFrom } from './kept-from.ts';
import { trimLife } from './trim-life.ts';

export type RetentionOptions = {
  readonly days: number;
  readonly now: Date;
  readonly signal: AbortSignal;
  /** Part of the time that transactions may take; the rest is left to reports and questions. */
  readonly share?: number;
};

export type RetentionOutcome = Forgotten & {
  readonly events: number;
  readonly reports: number;
  readonly changes: number;
};

const MIN_DAYS = 30;

/** '400d' -> 400. The schema validates the file; the value may also come from a flag. @throws FleetError USAGE */
export const retentionDays = (text: string): number => {
  const days = /^[1-9]\d{0,4}d$/.test(text) ? Number.parseInt(text, 10) : 0;
  if (days >= MIN_DAYS) return days;
  throw new FleetError('USAGE', `${JSON.stringify(text.slice(0, 40))} is not an age for retention`, {
    hint: `Write it in days, from ${MIN_DAYS}d on, like 400d`,
  });
};

const SHARE = 0.2;
/** Agents read at a time. */
const AGENTS = 100;

/**
 * Removes reports, events, history and notes (forgetNotes) that are older than the policy keeps, agent by agent, in short transactions with pauses between.
 * Current state, chain heads, floors, alarms, receipts, tokens and decisions stay. May be interrupted and run again at any time.
 * @returns undefined if nothing was removed because the clock may be ahead: no agent was heard within 30 days of it
 * @throws FleetError BUSY, DISK_FULL, DATABASE_UNREACHABLE, LAYOUT_INVALID; SIGNER_UNREACHABLE if a signer holds the release key
 */
export const applyRetention = async (
  hub: Pick<Hub, 'store' | 'layout' | 'keys'>,
  { days, now, signal, share = SHARE }: RetentionOptions,
): Promise<RetentionOutcome | undefined> => {
  if (await isLongAfter(hub, now)) return undefined;
  const cutoff = new Date(now.getTime() - days * DAY_MS);
  const before = await keptFrom(hub, cutoff);
  const judged = await readJudged(hub);
  const total = { events: 0, reports: 0, changes: 0 };
  for (let after = ''; ; ) {
    const agents = await nextAgents(hub, after);
    for (const agent of agents) {
      for (const life of await livesOf(hub, agent)) {
        for (let more = true; more; ) {
          signal.throwIfAborted();
          const started = performance.now();
          const channel = formatChannel(channelOf(agent));
          const done = await trimLife(
            hub.store,
            { agent: agent.id, life },
            { before: before(channel), judged: judged(agent, life) },
          );
          total.events += done.events;
          total.reports += done.reports;
          total.changes += done.changes;
          ({ more } = done);
          const pauseMs = (performance.now() - started) * (1 / share - 1);
          await setTimeout(pauseMs, undefined, { signal });
        }
      }
    }
    const last = agents.at(-1);
    // After the history, which names packages.
    if (!last) {
      const removed = { ...total, ...(await forgetNotes(hub, cutoff)) };
      await noteRemoved(hub, days, removed, now);
      return removed;
    }
    after = last.id;
  }
};

/** One entry of the audit log for each round that removed something. */
const noteRemoved = async (
  { store }: Pick<Hub, 'store'>,
  days: number,
  removed: RetentionOutcome,
  now: Date,
): Promise<void> => {
  if (Object.values(removed).every((rows) => rows === 0)) return;
  const by = { person: null, reason: `retention of ${days} days` };
  const change = { change: 'retention', about: 'stored facts', old: { ...removed }, new: null };
  await store.transact((tx) => noteChange(tx, change, by, now));
};

/** At the start of a machine without a battery its clock may be years ahead, and would make everything old. */
const isLongAfter = async ({ store }: Pick<Hub, 'store'>, now: Date): Promise<boolean> => {
  const { heard } = await store.db
    .selectFrom('agent')
    .select(({ fn }) => fn.max('heard_at').as('heard'))
    .executeTakeFirstOrThrow();
  return heard !== null && now.getTime() - parseTime(heard).getTime() > MIN_DAYS * DAY_MS;
};

const nextAgents = ({ store }: Pick<Hub, 'store'>, after: string): Promise<readonly AgentRow[]> =>
  store.db.selectFrom('agent').selectAll().where('id', '>', after).orderBy('id').limit(AGENTS).execute();

const livesOf = async ({ store }: Pick<Hub, 'store'>, { id }: AgentRow): Promise<readonly number[]> => {
  const rows = await store.db
    .selectFrom('report')
    .select('life')
    .distinct()
    .where('agent', '=', id)
    .orderBy('life')
    .execute();
  return rows.map(({ life }) => life);
};

/**
 * A signer that judges reports (evidence: signed) must be able to read on from the newest event it knows. It has no head of an agent
 * whose reports it never saw: nothing of that agent is removed.
 */
const readJudged = async ({
  keys,
}: Pick<Hub, 'keys'>): Promise<(agent: AgentRow, life: number) => number | undefined> => {
  const socket = keys.signerOf('release');
  if (socket === undefined) return () => undefined;
  const signer = await openRemoteEvidence(socket);
  const heads = new Map((await signer.heads()).map((head) => [head.agent, head]));
  if (heads.size === 0) return () => undefined;
  return ({ id, key, life: current }, life) => {
    if (life !== current) return undefined;
    const head = heads.get(id);
    return head?.key === key ? head.seq : 0;
  };
};
