import { isSelected } from '#bundles/trust/accept/is-selected';
import { judgeSiteValues, valuesOfAgent } from '#bundles/formats/author-schema/judge-site-values';
import { FleetError } from '#bundles/errors';
import { nameSome } from '#bundles/name-some';
import { formatChannel, sameChannel } from '#bundles/names';
import type { Offer, OfferedSite } from '../offer.ts';

const MAX_NAMED = 10;

/**
 * Validates the values of every site on the medium against the schemas of the releases on it, as the agents will.
 * @throws FleetError SITE_VALUES naming each agent, channel and value; no value itself is in the message
 */
export const checkSiteValues = async ({
  sites,
  channels,
}: Pick<Offer, 'sites' | 'channels'>): Promise<void> => {
  const wrong: string[] = [];
  for (const site of sites) wrong.push(...(await wrongOf(site, channels)));
  if (wrong.length === 0) return;
  throw new FleetError('SITE_VALUES', `a site would refuse this medium: ${nameSome(wrong, MAX_NAMED)}`, {
    hint: 'Correct the values with: fleet-scheduler sites set',
  });
};

const wrongOf = async (
  { site, agents, values }: OfferedSite,
  channels: Offer['channels'],
): Promise<readonly string[]> => {
  const found: string[] = [];
  for (const { name, channel, labels } of agents) {
    const offered = channels.find((it) => sameChannel(it.channel, channel));
    if (!offered || !isSelected(offered.rollout, { site, agent: name }, labels)) continue;
    for (const { siteInputs } of offered.bundles) {
      const { wrong } = await judgeSiteValues(siteInputs, valuesOfAgent(values, name));
      if (wrong !== undefined) found.push(`${site}/${name} (${formatChannel(channel)}): ${wrong}`);
    }
  }
  return found;
};
