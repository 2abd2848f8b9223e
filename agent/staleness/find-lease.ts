import { keptPredicate, keptSubject } from '#bundles/accept/kept-predicate';
import { keptUnder } from '#bundles/accept/kept-under';
import { PREDICATES } from '#bundles/media-types';
import { formatChannel } from '#bundles/names';
import type { LeasePredicate, SiteAgent, SitePredicate } from '#bundles/statements/predicates';
import type { Agent } from '../agent.ts';
import { readRoot, readStatement, readTrustRow } from '../store/trust.ts';

type Here = Pick<Agent, 'state' | 'identity'>;

/** The lease of the release in force, if it is signed by a key that still counts, and how fresh the order wants it. */
export const findLease = (
  here: Here,
): { readonly lease: LeasePredicate; readonly seconds: number | undefined } | undefined => {
  const { state } = here;
  const { channel } = readTrustRow(state);
  if (!channel) return undefined;
  const scope = formatChannel(channel);
  const kept = readStatement(state, 'lease', scope);
  // To read a root verifies it, and most releases have no lease.
  const root = kept && readRoot(state);
  const stored = root && keptUnder(kept, root.roles.lease, PREDICATES.lease);
  if (!stored || keptSubject(stored, 'release') !== readStatement(state, 'release', scope)?.digest) {
    return undefined;
  }
  const freshness = findOwnEntry(here)?.freshness;
  const seconds = freshness?.mode === 'lease' ? freshness.seconds : undefined;
  return { lease: keptPredicate(stored) as LeasePredicate, seconds };
};

/** What the order for this site says of this agent. */
export const findOwnEntry = ({ state, identity }: Here): SiteAgent | undefined => {
  const site = readStatement(state, 'site', '');
  return site && (keptPredicate(site) as SitePredicate).agents.find(({ name }) => name === identity.agent);
};
