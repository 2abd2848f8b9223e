import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import { enrolledAgents } from '../enrolled-agents.ts';
import { siteMissing } from '../set-values.ts';
import type { AgentRow, Database } from '../../store/tables.ts';

/** Agents of a site that are not revoked, sorted by name. @throws FleetError SITE_MISSING */
export const siteAgents = async (db: Database, site: string): Promise<readonly AgentRow[]> => {
  const known = await db.selectFrom('site').select('name').where('name', '=', site).executeTakeFirst();
  if (!known) throw siteMissing(site);
  const agents = await enrolledAgents(db, site);
  return agents.toSorted((a, b) => compareBytes(a.name, b.name));
};

/** Agents that a set is meant for. @param only undefined: all of the site @throws FleetError SITE_MISSING, AGENT_UNKNOWN */
export const intendedAgents = async (
  db: Database,
  site: string,
  only: readonly string[] | undefined,
): Promise<readonly AgentRow[]> => {
  const agents = await siteAgents(db, site);
  const unknown = only?.find((wanted) => !agents.some(({ name }) => name === wanted));
  if (unknown !== undefined)
    throw new FleetError('AGENT_UNKNOWN', `site ${site} has no agent ${unknown}`, {
      hint: 'See its agents with: fleet-scheduler sites list',
    });
  return only ? agents.filter(({ name }) => only.includes(name)) : agents;
};

/** Recipients of the agents and the escrow, each once, sorted. @throws FleetError RECIPIENT_MISSING if an agent has none */
export const recipientsOf = (
  site: string,
  agents: readonly AgentRow[],
  escrow: string | undefined,
): readonly string[] => {
  const without = agents.filter(({ recipient }) => recipient === null).map(({ name }) => `${site}/${name}`);
  if (without.length > 0) {
    throw new FleetError(
      'RECIPIENT_MISSING',
      `nothing can be sealed to ${nameSome(without)}, which never reported an age recipient`,
      {
        hint: 'Update the agent, let it ask again with fleet-agent enroll and take its request; or name the other agents with --agent',
      },
    );
  }
  const found = [
    ...agents.flatMap(({ recipient }) => recipient ?? []),
    ...(escrow === undefined ? [] : [escrow]),
  ];
  return [...new Set(found)].toSorted(compareBytes);
};
