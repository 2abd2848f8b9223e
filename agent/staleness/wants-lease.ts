import { trustedTime } from '#bundles/accept/trusted-time';
import { formatChannel } from '#bundles/names';
import { DAY_MS, parseTime } from '#bundles/time';
import type { Agent } from '../agent.ts';
import { readStatement, readTrustRow } from '../store/trust.ts';
import { findOwnEntry } from './find-lease.ts';

/** So long before a release ends a lease of it begins to be of use to those who need none until then. */
const SOON_MS = 30 * DAY_MS;

/** Whether to ask for leases between two releases: the order wants them, or the release ends soon. Others ask one question less. */
export const wantsLease = ({
  state,
  identity,
  edge,
}: Pick<Agent, 'state' | 'identity' | 'edge'>): boolean => {
  const { channel, timeFloor } = readTrustRow(state);
  if (findOwnEntry({ state, identity })?.freshness.mode === 'lease') return true;
  const release = channel && readStatement(state, 'release', formatChannel(channel));
  if (release?.expires === undefined) return false;
  const now = trustedTime({ now: edge.now(), trusted: edge.clockTrusted }, timeFloor);
  return parseTime(release.expires).getTime() - now.getTime() < SOON_MS;
};
