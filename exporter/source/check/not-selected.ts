import { nameSome } from '#bundles/name-some';
import { formatChannel, sameChannel } from '#bundles/names';
import { isSelected } from '#bundles/trust/accept/is-selected';
import type { Offer } from '../offer.ts';

const MAX_NAMED = 10;

/** One note for each channel whose release does not reach all agents of the medium's sites: those stay at what they run. */
export const notSelected = ({ sites, channels }: Pick<Offer, 'sites' | 'channels'>): readonly string[] =>
  channels.flatMap(({ channel, version, rollout }) => {
    const left = sites.flatMap(({ site, agents }) =>
      agents
        .filter((agent) => sameChannel(agent.channel, channel))
        .filter(({ name, labels }) => !isSelected(rollout, { site, agent: name }, labels))
        .map(({ name }) => `${site}/${name}`),
    );
    if (left.length === 0) return [];
    return `${formatChannel(channel)}: release ${version} does not select ${nameSome(left, MAX_NAMED)} yet; they stay at what they run`;
  });
