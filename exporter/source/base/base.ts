import type { Digest } from '#bundles/digest';
import type { Base, Reader } from '#bundles/formats/medium/choose-blobs';
import type { Channel } from '#bundles/names';

export type { Base, Reader } from '#bundles/formats/medium/choose-blobs';

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
