import type { Digest } from '#bundles/digest';
import { sameChannel } from '#bundles/names';
import type { Base, Bases, Reader } from '../source/base/base.ts';
import type { OfferedBundle } from '../source/offer.ts';

/** What is known of those who will import a bundle. */
export type Knowledge = {
  /** Those whose word counts: what all of them have may be left out. Empty: nothing may. */
  readonly bases: readonly Base[];
  /** Agents that nothing is known of. */
  readonly silent: readonly string[];
};

/**
 * An agent's report speaks for that agent, an earlier medium or a release for everybody on its channel. One agent that
 * nobody speaks for, and nothing is left out: it would be refused with what the others need not have brought.
 */
export const knowledgeOf = (
  bundle: Pick<OfferedBundle, 'channel'>,
  { bases, readers }: Pick<Bases, 'bases' | 'readers'>,
): Knowledge => {
  const own = bases.filter(({ channel }) => sameChannel(channel, bundle.channel));
  if (own.length === 0 || own.some(({ agent }) => agent === undefined)) return { bases: own, silent: [] };
  const heard = new Set(own.map(({ agent }) => agent));
  const follows = ({ channel, agent }: Reader): boolean =>
    sameChannel(channel, bundle.channel) && !heard.has(agent);
  const silent = new Set(readers.filter(follows).map(({ agent }) => agent));
  return silent.size === 0 ? { bases: own, silent: [] } : { bases: [], silent: [...silent] };
};

/**
 * Which blobs travel: a blob is left out only if everybody who will import its bundle has it already. The bundle's own
 * manifest and config always travel, so that every import knows what it needs; and with a blob go the manifests that
 * lead to it, so that it is known to belong.
 */
export const chooseBlobs = (
  bundles: readonly OfferedBundle[],
  known: Pick<Bases, 'bases' | 'readers' | 'asked'>,
): ReadonlySet<Digest> => {
  const chosen = new Set<Digest>();
  for (const bundle of bundles) {
    const held = knowledgeOf(bundle, known).bases.map((base) => [...base.holds.values()]);
    const heldByAll = (digest: Digest): boolean =>
      held.length > 0 && held.every((sets) => sets.some((set) => set.has(digest)));
    const [manifest, config] = bundle.closure;
    for (const blob of [manifest, config]) if (blob) chosen.add(blob.digest);
    for (const { digest } of bundle.closure)
      if (known.asked.has(digest) || !heldByAll(digest)) chosen.add(digest);
  }
  // Parents come before their children in a closure, so one walk from the end reaches every ancestor.
  for (const { closure } of bundles) {
    for (const { digest, children } of closure.toReversed()) {
      if (children.some((child) => chosen.has(child))) chosen.add(digest);
    }
  }
  return chosen;
};
