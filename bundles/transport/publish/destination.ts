import type { Repository } from '../registry/registry.ts';

/** The part of a repository that publishing uses, in a registry or a layout directory. */
export type TargetRepository = Pick<
  Repository,
  'name' | 'resolve' | 'blobs' | 'pushBlob' | 'pushManifest' | 'referrers' | 'fetchManifest'
>;

/** Where releases are published to. */
export type Destination = AsyncDisposable & {
  /** For messages: 'oci://registry.example/fleet'. */
  readonly name: string;
  /** @param path below the prefix: 'prod/line' */
  readonly repository: (path: string) => TargetRepository;
  /** Whether statements need referrers, by which cosign finds them; the index of a layout names them already. */
  readonly hasReferrers: boolean;
};
