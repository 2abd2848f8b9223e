import type { Digest } from '#bundles/digest';
import type { Channel } from '#bundles/names';

/** What somebody out there has already, and whom that speaks for. */
export type Base = {
  /** For people: 'plant-7/line-1' or the path of a medium. */
  readonly name: string;
  readonly channels: readonly Channel[];
  /** Its bundles and the blobs of each. */
  readonly holds: ReadonlyMap<Digest, ReadonlySet<Digest>>;
  /** Bundles it has that cannot be read any more: their blobs are sent again. */
  readonly unknown: readonly Digest[];
};

/** Everything that was learnt from `--for` and from the target itself. */
export type Bases = {
  readonly bases: readonly Base[];
  /** Blobs that an import missed and asked for. */
  readonly asked: ReadonlySet<Digest>;
  /** Sites whose reports were read. */
  readonly reporters: readonly string[];
  /** Release numbers that agents hold themselves to, by channel. */
  readonly floors: readonly { readonly agent: string; readonly channel: Channel; readonly release: number }[];
  /** What a person should know: bases that are gone, files that could not be read. */
  readonly notes: readonly string[];
};
