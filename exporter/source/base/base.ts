import type { Known } from '#bundles/formats/medium/choose-blobs';
import type { Channel } from '#bundles/names';

/** Result of reading `--for` and the target. The readers are all agents of the reporters' sites, whether they have reported or not. */
export type Bases = Known & {
  /** Sites whose reports were read or asked for. */
  readonly reporters: readonly string[];
  /** Release floors of agents, by channel. */
  readonly floors: readonly { readonly agent: string; readonly channel: Channel; readonly release: number }[];
  /** Notes for the user: bases that the source no longer has, files that could not be read. */
  readonly notes: readonly string[];
};
