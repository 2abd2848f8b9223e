import type { BundleConfig } from './config.ts';
import type { Descriptor } from '../layout/manifest.ts';

/**
 * Entries of the closure that a store keeps with the bundle: each blob of a signature, files of host packages, and each blob of an
 * image that a host package loads. Other images are for the providers of a cluster.
 */
export const closureFiles = ({
  closure,
  assignments,
}: Pick<BundleConfig, 'closure' | 'assignments'>): readonly Descriptor[] => {
  const used = new Set(assignments.flatMap(({ blobs = [] }) => blobs));
  return closure
    .filter(({ digest, names = [] }) => names.length === 0 || used.has(digest))
    .map(({ digest, size, mediaType }) => ({ digest, size, mediaType }));
};
