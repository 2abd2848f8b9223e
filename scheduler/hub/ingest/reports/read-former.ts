import { parsePublicKey } from '#bundles/trust/keys/key';
import { verifyClaim } from '#bundles/trust/reports/report';
import { isFleetError } from '#bundles/errors';
import type { Timestamp } from '#bundles/time';
import type { Store } from '../../store/open-store.ts';
import type { AgentKeyRow, AgentRow } from '../../store/tables.ts';

/** A report that an agent wrote before it was enrolled with another key. */
export type FormerReport = {
  readonly path: string;
  readonly agent: string;
  /** When the key that signed it was replaced. */
  readonly replacedAt: Timestamp;
  /** False: its events are not here, and are not taken any more, because its key counts no longer. */
  readonly known: boolean;
};

/**
 * Tells a report of an agent's former life, which stays on a medium after its machine was set up anew, from one that the holder of a
 * replaced key made since. @returns undefined if no former key signed it, or if it is dated after its key was replaced
 */
export const readFormer = async (
  { db }: Store,
  statement: Uint8Array,
  agent: AgentRow,
  path: string,
): Promise<FormerReport | undefined> => {
  const keys = await db
    .selectFrom('agent_key')
    .selectAll()
    .where('agent', '=', agent.id)
    .where('ended_at', 'is not', null)
    .execute();
  for (const { key, ended_at: replacedAt } of keys) {
    const verified = replacedAt === null ? undefined : verifiedBy(key, statement, path);
    if (!verified || replacedAt === null) continue;
    if (verified.predicate.agent !== agent.id || verified.predicate.time > replacedAt) continue;
    const stored = await db
      .selectFrom('report')
      .select('digest')
      .where('agent', '=', agent.id)
      .where('digest', 'in', verified.digests)
      .executeTakeFirst();
    return { path, agent: agent.id, replacedAt, known: stored !== undefined };
  }
  return undefined;
};

const verifiedBy = (key: AgentKeyRow['key'], statement: Uint8Array, path: string) => {
  try {
    return verifyClaim(statement, parsePublicKey(key), path);
  } catch (error) {
    if (isFleetError(error)) return undefined;
    throw error;
  }
};
