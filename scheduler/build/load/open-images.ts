import { type ResolveImages, resolveOnce } from '../../assemble/images/resolve-once.ts';
import type { SignatureRequirements } from '../../assemble/images/signatures/attach-signatures.ts';
import type { Platform } from '../../model/model.ts';
import type { EnvironmentInput } from '../environment-input.ts';

type Input = Pick<EnvironmentInput, 'images' | 'previous' | 'pulled' | 'pull' | 'store' | 'signatures'>;

/**
 * Finds the images that packages name. A package that is kept from the previous release runs the images of that release, whose blobs are
 * beside it in the layout.
 * @returns undefined if nothing is released, so that images need not exist
 */
export const openImages = (
  { images, previous, pulled, pull, store, signatures = [] }: Input,
  platform: Platform,
  signal: AbortSignal,
): ResolveImages | undefined => {
  if (images === 'unchecked') return undefined;
  const { imagePolicies: policies, imageIndexes: indexes = new Map(), imageAttachments } = platform;
  const sources = [images, previous?.layout.blobs, pulled].filter((source) => source !== undefined);
  const vouching: SignatureRequirements | undefined = policies && { policies, places: signatures, indexes };
  return resolveOnce({ sources, pull, store }, signal, vouching, imageAttachments);
};
