import type { Digest } from '#bundles/digest';

/** Has RAUC write a bundle into the slot that is not booted, and make that slot the next one. */
export type RaucInstallDetail = { readonly version: string; readonly digest: Digest; readonly size: number };

/** Makes a slot the one that the boot loader starts next. */
export type RaucActivateDetail = { readonly slot: string };

/** The system that the host has to run: that of a slot, or the one with a version, whatever its slot is. */
export type RaucBootDetail =
  | { readonly version: string }
  /** The way back to a slot that ran before: it is marked good at once, as no check of a package decides about it. */
  | { readonly slot: string };
