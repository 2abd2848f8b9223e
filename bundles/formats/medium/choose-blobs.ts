import type { Digest } from '../../digest.ts';
import { type Channel, sameChannel } from '../../names.ts';
import type { ClosureBlob } from '../bundle/read-closure.ts';

/** Content that agents of a channel already have. */
export type Base = {
  /** For messages: 'plant-7/line-1', 'release 12 of prod/kiosk' or the path of a medium. */
  readonly name: string;
  /** Channel whose bundles may assume it: an agent imports only the bundles of its own channel. */
  readonly channel: Channel;
  /** '<site>/<agent>' of a report; undefined when the user states it for all agents of the channel. */
  readonly agent?: string;
  /** Its bundles and the blobs of each. */
  readonly holds: ReadonlyMap<Digest, ReadonlySet<Digest>>;
  /** Names of the packages that run there, as far as that is known. */
  readonly packages?: ReadonlySet<string>;
  /** Bundles it has that cannot be read any more: their blobs are sent again. */
  readonly unknown: readonly Digest[];
};

/** An agent that its site statement names. */
export type Reader = { readonly agent: string; readonly channel: Channel };

/** Contents of the agents that will import a medium, and the blobs that they asked for. */
export type Known = {
  readonly bases: readonly Base[];
  readonly readers: readonly Reader[];
  /** Blobs that an import missed and asked for, and the agent that did. */
  readonly asked: ReadonlyMap<Digest, string>;
};

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
  bundle: { readonly channel: Channel },
  { bases, readers }: Pick<Known, 'bases' | 'readers'>,
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
  bundles: readonly { readonly channel: Channel; readonly closure: readonly ClosureBlob[] }[],
  known: Known,
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
