import type { Digest } from '#bundles/digest';

/** What a lock file records for one address. `size` is in bytes. */
export type LockedContent = { readonly digest: Digest; readonly size: number };

/** Keyed by address as packages write it. */
export type ContentLocks = ReadonlyMap<string, LockedContent>;
