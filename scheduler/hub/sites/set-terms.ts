import { FleetError } from '#bundles/errors';
import { type Channel, formatChannel } from '#bundles/names';
import { durationSeconds } from '../../model/duration.ts';
import type { Change } from '../changes/note-change.ts';
import type { AgentRow, Tx } from '../store/tables.ts';
import { channelOf, labelsOf, movedAgentRow } from './agent-record.ts';
import { enrolledAgents } from './enrolled-agents.ts';

/** Terms of an agent in a site statement, without its values. */
export type Terms = {
  /** The channel to follow. The statement also names the previous one (docs/bundle-format.md section 8, step 5). */
  readonly channel?: Channel | undefined;
  /** Maximum age of the release's lease in seconds; null: no lease needed; undefined: unchanged. */
  readonly freshness?: number | null | undefined;
};

/** The longest life of a lease that readers accept, in seconds. */
const MAX_LEASE_SECONDS = 400 * 86_400;

/** Parses 'release' to null and 'lease:14d' to seconds. @throws FleetError USAGE */
export const parseFreshness = (text: string): number | null => {
  if (text === 'release') return null;
  const [, age = ''] = /^lease:(.+[hdw])$/.exec(text) ?? [];
  const seconds = durationSeconds(age);
  if (seconds !== undefined && seconds <= MAX_LEASE_SECONDS) return seconds;
  throw new FleetError('USAGE', `${JSON.stringify(text.slice(0, 80))} is not a freshness`, {
    hint: 'Write release, or lease:<how old a lease may be>, like lease:14d; h, d and w, at most 400d',
  });
};

/** An agent with other terms, for the audit log. `moved`: it follows another channel. */
export type ChangedTerms = {
  readonly noted: Omit<Change, 'change'>;
  readonly moved: MovedAgent | undefined;
};

/** The record of an agent that follows another channel, before and after. */
export type MovedAgent = { readonly before: AgentRow; readonly after: AgentRow };

/** Stores the terms of one agent, or of all agents of a site, in the transaction that issues the next site statement. @returns the agents that changed */
export const setTerms = async (
  tx: Tx,
  { site, agent }: { readonly site: string; readonly agent: string | undefined },
  { channel, freshness }: Terms,
): Promise<readonly ChangedTerms[]> => {
  const all = await enrolledAgents(tx, site);
  const changed: ChangedTerms[] = [];
  for (const row of all.filter(({ name }) => agent === undefined || name === agent)) {
    const moves = channel !== undefined && formatChannel(channel) !== formatChannel(channelOf(row));
    const placed = moves ? movedAgentRow(row, channel, labelsOf(row)) : row;
    const next = freshness === undefined ? placed : { ...placed, freshness_seconds: freshness };
    if (!moves && next.freshness_seconds === row.freshness_seconds) continue;
    const { id, ...columns } = next;
    await tx.updateTable('agent').set(columns).where('id', '=', id).execute();
    changed.push({
      noted: { about: id, old: termsOf(row), new: termsOf(next) },
      moved: moves ? { before: row, after: next } : undefined,
    });
  }
  return changed;
};

const termsOf = (row: AgentRow) => ({
  channel: formatChannel(channelOf(row)),
  freshnessSeconds: row.freshness_seconds,
});
