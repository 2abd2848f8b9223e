import type { Digest } from '#bundles/digest';
import { sameChannel } from '#bundles/names';
import type { Base, Bases, Reader } from '../source/base/base.ts';
import type { OfferedBundle } from '../source/offer.ts';

/** Knowledge about the agents that will import a bundle. */
export type Knowledge = {
  /** Known contents of the readers. Blobs that all of them have may be left out; empty: none may. */
  readonly bases: readonly Base[];
  /** Agents without a report or other record. */
  readonly silent: readonly string[];
};

/**
 * A report covers its agent; an earlier medium or a release covers all agents of its channel. If one agent is not covered, nothing is left
 * out, because that agent would lack the omitted blobs.
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
 * Selects the blobs of the medium. A blob is left out only if every agent that will import its bundle has it. The bundle's manifest and
 * config are always included, so that an import knows what it needs; so are the manifests between the bundle and an included blob.
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
  // In a closure parents precede their children, so one pass from the end reaches every ancestor.
  for (const { closure } of bundles) {
    for (const { digest, children } of closure.toReversed()) {
      if (children.some((child) => chosen.has(child))) chosen.add(digest);
    }
  }
  return chosen;
};
