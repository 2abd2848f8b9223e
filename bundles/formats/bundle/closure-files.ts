import type { BundleConfig } from './config.ts';
import type { Descriptor } from '../layout/manifest.ts';

/** Entries of the closure that are not images, such as each blob of a signature. A store that keeps the bundle keeps these. */
export const closureFiles = ({ closure }: Pick<BundleConfig, 'closure'>): readonly Descriptor[] =>
  closure
    .filter(({ names = [] }) => names.length === 0)
    .map(({ digest, size, mediaType }) => ({ digest, size, mediaType }));
