import type { BlobSource } from '#bundles/layout/blobs';
import type { OpenMedium } from '#bundles/medium/medium';

/** Where an offer's blobs come from: a medium, a registry, or what a hub's answer carried. */
export type Source = {
  readonly blobs: BlobSource;
  /** Only of a medium: it may leave out what the site has, and takes a note of what was missing. */
  readonly medium?: OpenMedium | undefined;
  /** Patches of the medium that did not make what they are for, and how many were then not tried any more. */
  readonly badPatches?: { readonly failed: number; readonly untried: number } | undefined;
};
