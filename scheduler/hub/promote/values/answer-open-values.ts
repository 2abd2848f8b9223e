import type { ValuesOpen } from '#bundles/schemas/types/hub-decisions';
import { matchesSite } from '../../../plan/compose/compose-site.ts';
import type { Hub } from '../../hub.ts';
import { channelOf } from '../../sites/agent-record.ts';
import { agentsWithValues } from '../../sites/agents-with-values.ts';
import { readChannelLayers } from '../../sites/read-channel-layers.ts';
import type { Allowance } from '../../sites/tokens/allowance.ts';
import type { OpenValue, OpenValues } from './decide-in-repository.ts';
import { seesValues, toValuesAgent } from './values-access.ts';

/**
 * The open proposals in the repository that change a value of a site, or a layer below it. Only of agents that the caller sees.
 * @returns undefined: the caller sees no agent of the site, or there is no such site @throws FleetError the codes of the layout
 */
export const answerOpenValues = async (
  { hub, open }: { readonly hub: Hub; readonly open: OpenValues | undefined },
  site: string,
  allowances: readonly Allowance[],
): Promise<Omit<ValuesOpen, 'at'> | undefined> => {
  const rows = await agentsWithValues(hub.store.db, site);
  const { layers } = await readChannelLayers(hub, rows.map(channelOf));
  const seen = rows.map((row) => toValuesAgent(row, layers)).filter((agent) => seesValues(allowances, agent));
  if (seen.length === 0) return undefined;
  const found = open ? await open() : [];
  if (!found) return { site, proposals: null };
  const proposals = found.flatMap((one) => {
    const agents = seen
      .filter((agent) => isOf(one, agent.environment) && matchesSite(one.siteSelector, agent))
      .map(({ agent }) => agent);
    if (agents.length === 0) return [];
    const { siteSelector, name, person, at, branch, pullRequest = null } = one;
    return [{ agents, siteSelector, name, person, at, branch, pullRequest }];
  });
  return { site, proposals };
};

const isOf = ({ environment: own }: OpenValue, environment: string): boolean =>
  own === undefined || own === environment;
