import type { Digest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import { parsePublicKey } from '#bundles/trust/keys/key';
import { type VerifiedSupport, verifySupport } from '#bundles/trust/reports/support';
import { formatTime } from '#bundles/time';
import type { Store } from '../store/open-store.ts';
import type { AgentRow, Tx } from '../store/tables.ts';

/** `known`: it is stored. `late`: another bundle has answered the request, and this one is not stored. */
export type TakenSupport = {
  readonly agent: string;
  readonly digest: Digest;
  readonly request: string | null;
  readonly outcome: 'taken' | 'known' | 'late';
};

/** Bundles of one agent that are kept, newest first: a machine cannot fill the database. */
const MAX_KEPT = 10;

/**
 * Verifies a support bundle by the key that its agent was enrolled with.
 * @throws FleetError REVOKED, UNKNOWN_KEY, WRONG_FLEET, REPORT_INVALID; as verifySupport
 */
export const judgeSupport = async (
  bytes: Buffer,
  agent: Pick<AgentRow, 'id' | 'key' | 'revoked_at'>,
  fleet: string,
  path: string,
): Promise<VerifiedSupport> => {
  const what = `${path} of ${agent.id}`;
  if (agent.revoked_at !== null)
    throw new FleetError('REVOKED', `${agent.id} was revoked on ${agent.revoked_at}: ${path} is not taken`);
  const verified = await verifySupport(bytes, parsePublicKey(agent.key), what).catch((error: unknown) => {
    if (!isFleetError(error, 'UNKNOWN_KEY')) throw error;
    throw new FleetError('UNKNOWN_KEY', `${what} is not signed by the key that agent was enrolled with`, {
      cause: error,
    });
  });
  if (verified.predicate.fleet !== fleet)
    throw new FleetError('WRONG_FLEET', `${what} is of fleet ${verified.predicate.fleet}, this is ${fleet}`);
  if (verified.predicate.agent !== agent.id)
    throw new FleetError('REPORT_INVALID', `${what} says it is from ${verified.predicate.agent}`);
  return verified;
};

export type SupportArrival = {
  readonly bytes: Buffer;
  readonly agent: AgentRow;
  readonly source: 'stick' | 'network';
  /** Its name in messages. */
  readonly path: string;
};

/**
 * Verifies a support bundle and stores it once. The network takes answers alone: what an operator made at a machine comes by a person. A
 * request is answered by the first bundle that names it.
 * @throws FleetError REPORT_INVALID for an answer to a request that this office did not make of this agent, or that was made after the end of
 *   the request; as judgeSupport; BUSY, DISK_FULL
 */
export const takeSupport = async (
  store: Store,
  { bytes, agent, source, path }: SupportArrival,
  now: Date,
): Promise<TakenSupport> => {
  const { predicate, digest } = await judgeSupport(bytes, agent, store.fleet, path);
  const { request, time } = predicate;
  const taken = { agent: agent.id, digest, request };
  return store.transact(async (tx) => {
    const known = await tx
      .selectFrom('support_bundle')
      .select('digest')
      .where('digest', '=', digest)
      .executeTakeFirst();
    if (known) return { ...taken, outcome: 'known' };
    if (request === null && source === 'network')
      throw new FleetError('REPORT_INVALID', `${path} of ${agent.id} answers no request`);
    if (request !== null && (await answer(tx, request, agent.id, { time, path, now })) === 'late')
      return { ...taken, outcome: 'late' };
    await tx
      .insertInto('support_bundle')
      .values({
        digest,
        agent: agent.id,
        request,
        key: agent.key,
        made_at: time,
        received_at: formatTime(now),
        source,
        file: bytes.toString('base64'),
      })
      .execute();
    await keepNewest(tx, agent.id);
    return { ...taken, outcome: 'taken' };
  });
};

const answer = async (
  tx: Tx,
  id: string,
  agent: string,
  { time, path, now }: { readonly time: string; readonly path: string; readonly now: Date },
): Promise<'first' | 'late'> => {
  const request = await tx
    .selectFrom('support_request')
    .selectAll()
    .where('id', '=', id)
    .where('agent', '=', agent)
    .executeTakeFirst();
  if (!request)
    throw new FleetError(
      'REPORT_INVALID',
      `${path} of ${agent} answers request ${id}, which is not of this office`,
    );
  if (request.answered_at !== null) return 'late';
  if (time > request.until_at)
    throw new FleetError(
      'REPORT_INVALID',
      `${path} of ${agent} was made at ${time}, after the end of its request at ${request.until_at}`,
    );
  await tx
    .updateTable('support_request')
    .set({ answered_at: formatTime(now) })
    .where('id', '=', id)
    .execute();
  return 'first';
};

const keepNewest = async (tx: Tx, agent: string): Promise<void> => {
  const rows = await tx
    .selectFrom('support_bundle')
    .select('digest')
    .where('agent', '=', agent)
    .orderBy('received_at', 'desc')
    .orderBy('made_at', 'desc')
    .orderBy('digest')
    .execute();
  const old = rows.slice(MAX_KEPT).map(({ digest }) => digest);
  if (old.length > 0) await tx.deleteFrom('support_bundle').where('digest', 'in', old).execute();
};
