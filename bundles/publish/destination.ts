import type { Repository } from '../registry/registry.ts';

/** What publishing needs of a repository, in a registry or in a layout directory. */
export type Shelf = Pick<
  Repository,
  'name' | 'resolve' | 'blobs' | 'pushBlob' | 'pushManifest' | 'referrers' | 'fetchManifest'
>;

/** Where releases are published to. */
export type Destination = AsyncDisposable & {
  /** For messages: 'oci://registry.example/fleet'. */
  readonly name: string;
  /** @param path below the prefix: 'prod/line' */
  readonly repository: (path: string) => Shelf;
  /** What cosign and others find statements by; a layout's index names them already. */
  readonly hasReferrers: boolean;
};
