import { randomBytes } from 'node:crypto';
import { FleetError } from '#bundles/errors';
import { isSameJson } from '#bundles/json/is-same-json';
import type { Channel } from '#bundles/names';
import { ownValue } from '#bundles/own-value';
import { formatTime } from '#bundles/time';
import { hashToken } from '#bundles/trust/root/token-key';
import { noteChange } from '../../changes/note-change.ts';
import {
  agentId,
  type Labels,
  labelsOf,
  movedAgentRow,
  newAgentRow,
  rekeyedAgentRow,
} from '../../sites/agent-record.ts';
import { describeAgent } from '../../sites/describe-agent.ts';
import { issueComposed } from '../../sites/enroll/enroll-agents.ts';
import { type SiteSigner, siteValuesOf } from '../../sites/issue-site.ts';
import type { ComposeAgent, ComposedAgent } from '../../sites/layers/compose-agent.ts';
import { encodeToken, TOKEN_BYTES } from '../../sites/tokens/token.ts';
import type { Store } from '../../store/open-store.ts';
import type { AgentRow, FollowerKind, Tx } from '../../store/tables.ts';

export type FollowerRequest = {
  readonly site: string;
  readonly name: string;
  readonly kind: FollowerKind;
  readonly channel: Channel;
  /** undefined: as before, none for a new one. */
  readonly labels: Labels | undefined;
};

export type RegisteredFollower = {
  readonly row: AgentRow;
  /** Shown once. */
  readonly token: string;
  readonly result: 'registered' | 'changed';
};

/**
 * Registers a cluster that follows a channel by Flux or Argo CD, and makes its token. For a known follower the token, the channel
 * and the labels are replaced; the old token is refused from then on. A site that is new gets its statement, which names no
 * agent: a follower verifies no statement.
 * @param signer with `composeAgent` its site has the values of its layers with the same statement
 * @throws FleetError ALREADY_ENROLLED if the name belongs to an agent, or to a follower by another kind; ENROLMENT_WAITS if its values cannot be composed
 */
export const registerFollower = (
  store: Store,
  order: FollowerRequest,
  signer: SiteSigner & { readonly composeAgent?: ComposeAgent },
  now: Date,
): Promise<RegisteredFollower> =>
  store.transact(async (tx) => {
    const id = agentId(order.site, order.name);
    const known = await tx.selectFrom('agent').selectAll().where('id', '=', id).executeTakeFirst();
    const row = planRow(order, known, now);
    const of = await signer.composeAgent?.(tx, row, known);
    const { id: _, ...columns } = row;
    await tx
      .insertInto('agent')
      .values(row)
      .onConflict((conflict) => conflict.column('id').doUpdateSet(columns))
      .execute();
    // A revoked follower that comes back may be another cluster: its old state is in its events only.
    if (known && known.life !== row.life) {
      await tx.deleteFrom('assignment_state').where('agent', '=', id).execute();
      await tx.deleteFrom('agent_state').where('agent', '=', id).execute();
    }
    const token = encodeToken('follower', randomBytes(TOKEN_BYTES));
    await storeSecret(tx, row, token, now);
    const old = known ? describeAgent(known) : null;
    await noteChange(tx, { change: 'sites follow', about: id, old, new: describeAgent(row) }, store.by, now);
    await issueWithValues(tx, { row, of }, signer, now);
    return { row, token, result: known ? 'changed' : 'registered' };
  });

/** The tree of a new cluster, or of one that moves, has the values of its layers from its first build on. */
const issueWithValues = async (
  tx: Tx,
  { row: { site, name }, of }: { readonly row: AgentRow; readonly of: ComposedAgent | undefined },
  signer: SiteSigner,
  now: Date,
): Promise<void> => {
  const known = await tx.selectFrom('site').selectAll().where('name', '=', site).executeTakeFirst();
  const before = siteValuesOf(known, signer.root.fleet, site);
  const isSame = of === undefined || isSameJson(ownValue(before.composed ?? {}, name), of.values);
  if (known && isSame) return;
  await issueComposed(tx, { site, known, composed: of ? [{ name, of }] : [] }, signer, now);
};

const planRow = (
  { site, name, kind, channel, labels }: FollowerRequest,
  known: AgentRow | undefined,
  now: Date,
): AgentRow => {
  if (!known)
    return { ...newAgentRow({ site, agent: name }, '', channel, labels ?? {}, now), follower: kind };
  if (known.follower !== kind)
    throw new FleetError(
      'ALREADY_ENROLLED',
      `${known.id} is ${known.follower === null ? 'an agent' : `a follower by ${known.follower}`}`,
      { hint: 'Register the follower under another name' },
    );
  const alive = known.revoked_at === null ? known : rekeyedAgentRow(known, '', undefined, now);
  return movedAgentRow(alive, channel, labels ?? labelsOf(known));
};

/** An HMAC needs the token itself; a bearer token is compared by its hash. */
const storeSecret = async (tx: Tx, { id, follower }: AgentRow, token: string, now: Date): Promise<void> => {
  const secret = follower === 'flux' ? token : hashToken(token);
  const columns = { secret, since: formatTime(now) };
  await tx
    .insertInto('follower')
    .values({ agent: id, ...columns })
    .onConflict((conflict) => conflict.column('agent').doUpdateSet(columns))
    .execute();
};
