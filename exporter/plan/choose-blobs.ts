import type { Digest } from '#bundles/digest';
import { sameChannel } from '#bundles/names';
import type { Base } from '../base/base.ts';
import type { OfferedBundle } from '../source/offer.ts';

/** Those whose word counts for this bundle. */
export const basesFor = (bundle: OfferedBundle, bases: readonly Base[]): readonly Base[] =>
  bases.filter((base) => base.channels.some((channel) => sameChannel(channel, bundle.channel)));

/**
 * Which blobs travel: a blob is left out only if everybody who will import its bundle has it already. The bundle's own
 * manifest and config always travel, so that every import knows what it needs; and with a blob go the manifests that
 * lead to it, so that it is known to belong.
 */
export const chooseBlobs = (
  bundles: readonly OfferedBundle[],
  bases: readonly Base[],
  asked: ReadonlySet<Digest>,
): ReadonlySet<Digest> => {
  const chosen = new Set<Digest>();
  for (const bundle of bundles) {
    const held = basesFor(bundle, bases).map((base) => [...base.holds.values()]);
    const heldByAll = (digest: Digest): boolean =>
      held.length > 0 && held.every((sets) => sets.some((set) => set.has(digest)));
    const [manifest, config] = bundle.closure;
    for (const blob of [manifest, config]) if (blob) chosen.add(blob.digest);
    for (const { digest } of bundle.closure) if (asked.has(digest) || !heldByAll(digest)) chosen.add(digest);
  }
  // Parents come before their children in a closure, so one walk from the end reaches every ancestor.
  for (const { closure } of bundles) {
    for (const { digest, children } of closure.toReversed()) {
      if (children.some((child) => chosen.has(child))) chosen.add(digest);
    }
  }
  return chosen;
};
