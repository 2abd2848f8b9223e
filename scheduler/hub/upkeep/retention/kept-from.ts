import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { formatChannel, parseChannel } from '#bundles/names';
import { formatTime, type Timestamp } from '#bundles/time';
import { channelsIn } from '#bundles/transport/publish/choose-pointers';
import { channelFacts, readChannels } from '../../promote/facts/read-channels.ts';
import type { Hub } from '../../hub.ts';

/**
 * Start of the period whose facts are kept for each channel regardless of age: the first release of its current candidate,
 * because gates use facts since then. An unreadable channel keeps all facts.
 * @param cutoff the age by policy
 * @returns the earlier of both, by channel
 */
export const keptFrom = async (
  { layout: directory, keys: { roots } }: Pick<Hub, 'layout' | 'keys'>,
  cutoff: Date,
): Promise<(channel: string) => Timestamp> => {
  const layout = await openOrStartLayout(directory);
  const before = formatTime(cutoff);
  const kept = new Map<string, Timestamp>();
  const environments = new Set(channelsIn(layout).map((name) => parseChannel(name).environment));
  for (const environment of environments) {
    for (const one of await readChannels(layout, roots, environment)) {
      const { release, lineage, text } = one;
      const name = formatChannel(one.channel);
      if (!release && text !== 'no release') kept.set(name, NEVER);
      if (!lineage) continue;
      const { shared } = lineage;
      const [facts] = await channelFacts(layout, roots, [one], { shared, followed: [] });
      if (facts?.since && facts.since.issuedAt < before) kept.set(name, facts.since.issuedAt);
    }
  }
  return (channel) => kept.get(channel) ?? before;
};

const NEVER: Timestamp = '0000-01-01T00:00:00Z';
