import type { Digest } from '#bundles/digest';

/** Entry of a lock file for one address. `size` is in bytes. */
export type LockedContent = { readonly digest: Digest; readonly size: number };

export type ContentLocks = {
  /** Keyed by address as packages write it. */
  readonly files: ReadonlyMap<string, LockedContent>;
  /** Addresses of all Debian packages that a selection needs, by the selection's key (debs-key.ts). */
  readonly debs: ReadonlyMap<string, readonly string[]>;
};

export const NO_LOCKS: ContentLocks = { files: new Map(), debs: new Map() };
