import type { Digest } from '#bundles/digest';
import type { Channel } from '#bundles/names';

/** What somebody out there has already, and whom that speaks for. */
export type Base = {
  /** For people: 'plant-7/line-1', 'release 12 of prod/kiosk' or the path of a medium. */
  readonly name: string;
  /** Whose bundles may count on it: an agent imports those of its own channel only, whatever else a medium carries. */
  readonly channel: Channel;
  /** '<site>/<agent>' of a report; undefined: said by a person of everybody who follows the channel. */
  readonly agent?: string;
  /** Its bundles and the blobs of each. */
  readonly holds: ReadonlyMap<Digest, ReadonlySet<Digest>>;
  /** Names of the packages that run there, as far as that is known. */
  readonly packages?: ReadonlySet<string>;
  /** Bundles it has that cannot be read any more: their blobs are sent again. */
  readonly unknown: readonly Digest[];
};

/** An agent that the order of its site names. */
export type Reader = { readonly agent: string; readonly channel: Channel };

/** Everything that was learnt from `--for` and from the target itself. */
export type Bases = {
  readonly bases: readonly Base[];
  /** Blobs that an import missed and asked for, and the agent that did. */
  readonly asked: ReadonlyMap<Digest, string>;
  /** Sites whose reports were read or asked for. */
  readonly reporters: readonly string[];
  /** All agents of those sites, whether they have reported or not. */
  readonly readers: readonly Reader[];
  /** Release numbers that agents hold themselves to, by channel. */
  readonly floors: readonly { readonly agent: string; readonly channel: Channel; readonly release: number }[];
  /** What a person should know: bases that are gone, files that could not be read. */
  readonly notes: readonly string[];
};
