import type { Digest } from '#bundles/digest';
import type { Channel } from '#bundles/names';

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

/** Result of reading `--for` and the target. */
export type Bases = {
  readonly bases: readonly Base[];
  /** Blobs that an import missed and asked for, and the agent that did. */
  readonly asked: ReadonlyMap<Digest, string>;
  /** Sites whose reports were read or asked for. */
  readonly reporters: readonly string[];
  /** All agents of those sites, whether they have reported or not. */
  readonly readers: readonly Reader[];
  /** Release floors of agents, by channel. */
  readonly floors: readonly { readonly agent: string; readonly channel: Channel; readonly release: number }[];
  /** Notes for the user: bases that the source no longer has, files that could not be read. */
  readonly notes: readonly string[];
};
