import { FleetError } from '#bundles/errors';
import type { SitePredicate } from '#bundles/formats/statements/predicates';
import type { ChainLink } from '../chain.ts';
import type { Judging } from './judging.ts';

/**
 * Checks that no agent leaves an environment that gets only promoted candidates for one that gets others: who writes site statements
 * could otherwise bring unpromoted content to its machines. A key that ever was in such an environment stays bound to the chain, also
 * after its agent was revoked.
 * @throws FleetError SIGNER_REFUSED
 */
export const checkMoves = (
  { audience: { site }, agents }: Pick<SitePredicate, 'audience' | 'agents'>,
  { chain, state }: Pick<Judging, 'chain' | 'state'>,
  what: string,
): void => {
  const linked = new Map(chain.map((link) => [link.environment, link]));
  for (const { name, key, channel } of agents) {
    const to = channel.environment;
    const from = state.evidence
      .livedIn(key)
      .find(
        (before) => linked.has(before) && before !== to && (!linked.has(to) || isBefore(linked, to, before)),
      );
    if (from === undefined) continue;
    throw new FleetError(
      'SIGNER_REFUSED',
      `${what} moves ${site}/${name} from ${from} to ${to}, whose releases were not promoted to ${from}`,
      {
        hint: `If that is intended, set the machine up anew and enroll it with a new key`,
      },
    );
  }
};

/** Whether `environment` is one of those from which candidates are promoted to `later`. */
const isBefore = (linked: ReadonlyMap<string, ChainLink>, environment: string, later: string): boolean => {
  for (let at = linked.get(later)?.promotedFrom; at !== undefined; at = linked.get(at)?.promotedFrom)
    if (at === environment) return true;
  return false;
};
