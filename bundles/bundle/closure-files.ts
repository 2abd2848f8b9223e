import type { BundleConfig } from './config.ts';
import type { Descriptor } from './manifest.ts';

/** What travels along and is no image: signatures, each blob of them by itself. Whoever keeps a bundle keeps these. */
export const closureFiles = ({ closure }: Pick<BundleConfig, 'closure'>): readonly Descriptor[] =>
  closure
    .filter(({ names = [] }) => names.length === 0)
    .map(({ digest, size, mediaType }) => ({ digest, size, mediaType }));
