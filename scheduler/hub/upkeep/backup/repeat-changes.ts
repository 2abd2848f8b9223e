import { parseName } from '#bundles/names';
import type { ChangePredicate } from '#bundles/formats/statements/predicates';
import { formatTime, type Timestamp } from '#bundles/time';
import type { AuditEntry } from '../../../load/releases/audit-log.ts';
import { describeAgent } from '../../sites/describe-agent.ts';
import { markRevoked } from '../../sites/revoke-agent.ts';
import { markTokenRevoked } from '../../sites/tokens/list-tokens.ts';
import type { By } from '../../store/open-store.ts';
import type { AgentRow, Tx } from '../../store/tables.ts';

/** Changes that the audit log has and an older database lacks, by their effect on the database. */
export type RepeatedChanges = {
  /** Agents, as '<site>/<agent>', and tokens that were revoked again. */
  readonly agents: readonly string[];
  readonly tokens: readonly string[];
  /** Open sessions, all of which ended. */
  readonly sessions: number;
  /** Other changes, oldest first: people have to make them again. */
  readonly lost: readonly LostChange[];
};

export type LostChange = Pick<ChangePredicate, 'change' | 'about' | 'person' | 'reason' | 'time'>;

type Options = {
  /** All entries of the audit log, oldest first. */
  readonly entries: readonly AuditEntry[];
  /** When the database was saved. */
  readonly since: Timestamp;
  readonly by: By;
  readonly now: Date;
};

/** Changes that nobody has to make again: repeatChanges does, the log itself counts, or what they were about has ended. */
const DONE = [
  'sites revoke',
  'tokens revoke',
  'revoke',
  'sites renew',
  'retention',
  'restore',
  'sessions end',
  'break-glass',
  'root install',
  'root add-authority',
];

/**
 * Takes away again in an older database what was taken away after it was saved, as the audit log says: agents that were revoked or got
 * another key, revoked tokens, enrolment tokens that were used since, break-glass codes, and all sessions. Nothing of it may count again
 * because a database was restored. The caller issues the statements of the agents' sites.
 */
export const repeatChanges = async (
  tx: Tx,
  { entries, since, by, now }: Options,
): Promise<RepeatedChanges> => {
  const agents: string[] = [];
  const tokens: string[] = [];
  const lost: LostChange[] = [];
  const revokeTokens = async (rows: readonly { readonly id: string }[]) => {
    for (const { id } of rows) if (await markTokenRevoked(tx, id, by, now)) tokens.push(id);
  };
  const { numUpdatedRows } = await tx
    .updateTable('session')
    .set({ ended_at: formatTime(now), ended_why: 'the database was restored' })
    .where('ended_at', 'is', null)
    .executeTakeFirst();
  const changes = entries.flatMap((entry) =>
    entry.kind === 'change' && entry.predicate.time >= since ? [entry.predicate] : [],
  );
  for (const last of newestOfAgents(changes)) {
    const { about } = last;
    const known = await tx.selectFrom('agent').selectAll().where('id', '=', about).executeTakeFirst();
    if (!known || known.revoked_at !== null || !isGone(known, last)) continue;
    await markRevoked(tx, known, by, now);
    agents.push(about);
  }
  for (const { change, about, person, reason, time } of changes) {
    if (change === 'tokens revoke') await revokeTokens([{ id: about }]);
    if (change === 'sites enroll') await revokeTokens(await openTokensFor(tx, about, time));
    if (!DONE.includes(change)) lost.push({ change, about, person, reason, time });
  }
  await revokeTokens(
    await tx
      .selectFrom('token')
      .select('id')
      .where('scope', '=', 'break-glass')
      .where('revoked_at', 'is', null)
      .where('expires_at', '>', formatTime(now))
      .execute(),
  );
  return { agents, tokens, sessions: Number(numUpdatedRows), lost };
};

/** The newest revocation or enrolment of each agent. */
const newestOfAgents = (changes: readonly ChangePredicate[]): Iterable<ChangePredicate> =>
  new Map(
    changes.filter(({ change }) => AGENT_CHANGES.includes(change)).map((change) => [change.about, change]),
  ).values();

const AGENT_CHANGES = ['sites revoke', 'sites enroll'];

/** Whether the agent was revoked, or has another key than the database knows. */
const isGone = (known: AgentRow, { change, new: after }: ChangePredicate): boolean =>
  change === 'sites revoke' || (after !== null && describeAgent(known)['key'] !== after['key']);

/** Unused enrolment tokens with which an agent may have been enrolled at a time. */
const openTokensFor = async (
  tx: Tx,
  agent: string,
  at: Timestamp,
): Promise<readonly { readonly id: string }[]> => {
  const [site, name] = agent.split('/');
  return tx
    .selectFrom('token')
    .select('id')
    .where('scope', '=', 'enroll')
    .where('site', '=', parseName(site, 'site'))
    .where((eb) => eb.or([eb('agent', '=', name ?? ''), eb('agent', 'is', null)]))
    .where('created_at', '<=', at)
    .where('used_at', 'is', null)
    .where('revoked_at', 'is', null)
    .execute();
};
