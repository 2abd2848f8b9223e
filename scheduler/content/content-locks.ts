import type { Digest } from '#bundles/digest';

/** What a lock file says of an address. */
export type LockedContent = { readonly digest: Digest; readonly size: number };

/** By address, as packages write it. */
export type ContentLocks = ReadonlyMap<string, LockedContent>;
