import { FleetError } from '#bundles/errors';
import { parseName } from '#bundles/names';
import { formatTime } from '#bundles/time';
import { noteChange } from '../changes/note-change.ts';
import type { By, Store } from '../store/open-store.ts';
import type { AgentRow, Tx } from '../store/tables.ts';
import { describeAgent } from './describe-agent.ts';
import { issueSite, type SiteSigner } from './issue-site.ts';
import type { ChangedSite } from './set-values.ts';

/**
 * Revokes an agent: the next site statement leaves it out, and its reports and its key are refused from now on.
 * @param id '<site>/<agent>'
 * @returns `changed: false` if it was revoked before
 * @throws FleetError USAGE, NAME_INVALID, AGENT_UNKNOWN
 */
export const revokeAgent = async (
  store: Store,
  id: string,
  signer: SiteSigner,
  now: Date,
): Promise<ChangedSite> => {
  const [site, name, ...rest] = id.split('/');
  if (name === undefined || rest.length > 0) {
    throw new FleetError('USAGE', `${JSON.stringify(id.slice(0, 160))} is not <site>/<agent>`);
  }
  parseName(site, 'site');
  parseName(name, 'agent');
  return store.transact(async (tx) => {
    const agent = await tx.selectFrom('agent').selectAll().where('id', '=', id).executeTakeFirst();
    if (!agent) throw new FleetError('AGENT_UNKNOWN', `no agent ${id} was ever enrolled here`);
    if (agent.revoked_at !== null) {
      const row = await tx
        .selectFrom('site')
        .selectAll()
        .where('name', '=', agent.site)
        .executeTakeFirstOrThrow();
      return { site: row, changed: false };
    }
    await markRevoked(tx, agent, store.by, now);
    return { site: await issueSite(tx, agent.site, signer, now), changed: true };
  });
};

/** Revokes an agent in the database. The caller issues the statement of its site in the same transaction. */
export const markRevoked = async (tx: Tx, agent: AgentRow, by: By, now: Date): Promise<void> => {
  const at = formatTime(now);
  const { id } = agent;
  await tx.updateTable('agent').set({ revoked_at: at }).where('id', '=', id).execute();
  await tx
    .updateTable('agent_key')
    .set({ ended_at: at })
    .where('agent', '=', id)
    .where('ended_at', 'is', null)
    .execute();
  await noteChange(tx, { change: 'sites revoke', about: id, old: describeAgent(agent), new: null }, by, now);
};
