import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { channelRepository, siteRepository } from '#bundles/registry/references';
import type { Registry } from '#bundles/registry/registry';
import type { Agent } from '../agent.ts';
import { wantsLease } from '../staleness/wants-lease.ts';
import { readPointers } from '../store/pointers.ts';
import { readTrustRow } from '../store/trust.ts';
import { pointerName } from './pointer-name.ts';

/** What the tags of this agent name now. */
export type Poll = {
  readonly pointers: ReadonlyMap<string, Digest>;
  /** Something is other than what was accepted last: worth a closer look. */
  readonly news: boolean;
};

/**
 * One HEAD for each tag of this agent, and nothing else; leases are asked for only where one is of use. A tag that is gone is no news: what was accepted stands.
 * @param receipts whether receipts come this way; where there is a hub they come with its answers
 * @throws FleetError REGISTRY_*, SITE_MISSING or CHANNEL_MISSING for a registry that has nothing at all for this agent
 */
export const pollRegistry = async (agent: Agent, registry: Registry, receipts: boolean): Promise<Poll> => {
  const { channel } = readTrustRow(agent.state);
  const site = registry.repository(siteRepository(agent.identity.site));
  const asked = [
    ...(channel ? [{ repository: registry.repository(channelRepository(channel)), tag: 'release' }] : []),
    ...(channel && wantsLease(agent)
      ? [{ repository: registry.repository(channelRepository(channel)), tag: 'lease' }]
      : []),
    { repository: site, tag: 'site' },
    ...(receipts ? [{ repository: site, tag: 'receipts' }] : []),
  ];
  const pointers = new Map<string, Digest>();
  for (const { repository, tag } of asked) {
    const found = await repository.resolve(tag, agent.signal);
    if (found) pointers.set(pointerName(repository, tag), found.digest);
  }
  const [first] = asked;
  if (pointers.size === 0 && first) {
    throw channel
      ? new FleetError('CHANNEL_MISSING', `${first.repository.name} has no release yet`, { hint: PUBLISH })
      : new FleetError('SITE_MISSING', `${site.name} has no order for this site yet`, { hint: PUBLISH });
  }
  const before = readPointers(agent.state);
  return { pointers, news: [...pointers].some(([name, digest]) => before.get(name) !== digest) };
};

const PUBLISH = 'The platform team publishes to this registry; check the address if they have';
