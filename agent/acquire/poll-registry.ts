import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { channelRepository, siteRepository } from '#bundles/transport/registry/references';
import type { Registry } from '#bundles/transport/registry/registry';
import type { Agent } from '../store/agent.ts';
import { readPointers } from '../store/applied/pointers.ts';
import { readStatement, readTrustRow } from '../store/trust.ts';
import { pointerName } from './offers/pointer-name.ts';
import { trustedTime } from '#bundles/trust/accept/trusted-time';
import { formatChannel } from '#bundles/names';
import { DAY_MS, parseTime } from '#bundles/time';
import { findOwnEntry } from './staleness/find-lease.ts';

/** The manifests that this agent's tags name now. */
export type Poll = {
  readonly pointers: ReadonlyMap<string, Digest>;
  /** True if a tag names another manifest than at the last acceptance. */
  readonly news: boolean;
};

/**
 * Sends one HEAD request for each tag of this agent; for leases only if one is needed. A deleted tag is not news, because the
 * accepted release stays in force.
 * @param receipts whether to ask for receipts; with a hub, its answers bring them
 * @throws FleetError REGISTRY_*, or SITE_MISSING or CHANNEL_MISSING if the registry has nothing for this agent
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
      : new FleetError('SITE_MISSING', `${site.name} has no statement for this site yet`, { hint: PUBLISH });
  }
  const before = readPointers(agent.state);
  return { pointers, news: [...pointers].some(([name, digest]) => before.get(name) !== digest) };
};

const PUBLISH = 'The platform team publishes to this registry; check the address if they have';

/** Leases are polled this long before the end of a release, even if the site statement does not require them. */
const LEASE_POLL_MS = 30 * DAY_MS;

/** Whether to poll for leases: the site statement requires them, or the release expires soon. */
const wantsLease = ({ state, identity, edge }: Pick<Agent, 'state' | 'identity' | 'edge'>): boolean => {
  const { channel, timeFloor } = readTrustRow(state);
  if (findOwnEntry({ state, identity })?.freshness.mode === 'lease') return true;
  const release = channel && readStatement(state, 'release', formatChannel(channel));
  if (release?.expires === undefined) return false;
  const now = trustedTime({ now: edge.now(), trusted: edge.clockTrusted }, timeFloor);
  return parseTime(release.expires).getTime() - now.getTime() < LEASE_POLL_MS;
};
