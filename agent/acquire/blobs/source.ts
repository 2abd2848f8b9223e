import type { BlobSource } from '#bundles/formats/layout/blobs';
import type { OpenMedium } from '#bundles/formats/medium/medium';

/** The source of an offer's blobs: a medium, a registry or a hub's answer. */
export type Source = {
  readonly blobs: BlobSource;
  /** Set for a medium, which may leave out blobs that the site has, and on which missing blobs are noted. */
  readonly medium?: OpenMedium | undefined;
  /** Number of patches that did not yield their blob, and of patches that were not tried after that. */
  readonly badPatches?: { readonly failed: number; readonly untried: number } | undefined;
};
