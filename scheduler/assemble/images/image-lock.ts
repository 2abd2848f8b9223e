import type { Digest } from '#bundles/digest';
import type { Place } from '#bundles/errors';

/** An image that manifests or quadlets name by a tag. */
export type ImageReference = {
  /** As the first manifest writes it: 'nginx:1.27'. */
  readonly image: string;
  /** Place in that manifest. */
  readonly at: Place;
  /** Platforms of all cluster types that run it, sorted; empty: all platforms of the registry's image. */
  readonly platforms: readonly string[];
};

/** Entries of the lock file. */
export type ImageLocks = {
  /** Image -> 'host/repo@sha256:...'. */
  readonly images: ReadonlyMap<string, string>;
  /** Digest of a locked manifest -> digest of the index that it was chosen from. */
  readonly indexes: ReadonlyMap<string, string>;
  /** Digest of a locked manifest -> platforms that it was found to serve, 'linux/amd64' ... */
  readonly platforms: ReadonlyMap<string, readonly string[]>;
};

/** One entry of the lock file. `image` is its key, values are 'host/repo@sha256:...'. */
export type LockedImage = {
  readonly image: string;
  readonly before: string | undefined;
  readonly after: string;
  /** The index that its manifest was chosen from. Signatures usually refer to the index. */
  readonly index?: Digest;
  /** Platforms that `after` was found to serve; undefined: the file says so already, or nothing was looked up. */
  readonly platforms?: readonly string[];
};
