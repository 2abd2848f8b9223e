import { keptPredicate, keptSubject } from '#bundles/trust/accept/kept-predicate';
import { keptUnder } from '#bundles/trust/accept/kept-under';
import { PREDICATES } from '#bundles/media-types';
import { formatChannel } from '#bundles/names';
import type { LeasePredicate, SiteAgent, SitePredicate } from '#bundles/formats/statements/predicates';
import type { Agent } from '../../store/agent.ts';
import { readRoot, readStatement, readTrustRow } from '../../store/trust.ts';

type Here = Pick<Agent, 'state' | 'identity'>;

/** The lease of the release in force, if signed by a trusted key, and the maximum age in seconds that the site requires. */
export const findLease = (
  here: Here,
): { readonly lease: LeasePredicate; readonly seconds: number | undefined } | undefined => {
  const { state } = here;
  const { channel } = readTrustRow(state);
  if (!channel) return undefined;
  const scope = formatChannel(channel);
  const kept = readStatement(state, 'lease', scope);
  // Reading the root verifies it, which is skipped without a lease.
  const root = kept && readRoot(state);
  const stored = root && keptUnder(kept, root.roles.lease, PREDICATES.lease);
  if (!stored || keptSubject(stored, 'release') !== readStatement(state, 'release', scope)?.digest) {
    return undefined;
  }
  const freshness = findOwnEntry(here)?.freshness;
  const seconds = freshness?.mode === 'lease' ? freshness.seconds : undefined;
  return { lease: keptPredicate(stored) as LeasePredicate, seconds };
};

/** The entry of this agent in the site statement. */
export const findOwnEntry = ({ state, identity }: Here): SiteAgent | undefined => {
  const site = readStatement(state, 'site', '');
  return site && (keptPredicate(site) as SitePredicate).agents.find(({ name }) => name === identity.agent);
};
