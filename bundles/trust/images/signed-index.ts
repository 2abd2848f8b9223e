import { childrenOf, type Manifest, parseManifest } from '../../formats/layout/manifest.ts';
import { type Digest, digestOf } from '../../digest.ts';
import { SIGNED_INDEX, SIGNED_INDEX_JSON } from '../../media-types.ts';
import { type Evidence, createEvidence } from './evidence.ts';

/**
 * Wraps an image index as evidence. cosign signs the index of several platforms, and a bundle names the manifest of one;
 * registries refuse an index without the manifests of its other platforms.
 */
export const wrapIndex = (index: Buffer): Evidence =>
  createEvidence(
    {
      descriptor: { mediaType: SIGNED_INDEX_JSON, digest: digestOf(index), size: index.byteLength },
      bytes: index,
    },
    { artifactType: SIGNED_INDEX },
  );

export const isWrappedIndex = ({ artifactType, layers }: Manifest): boolean =>
  artifactType === SIGNED_INDEX && layers.length === 1 && layers[0]?.mediaType === SIGNED_INDEX_JSON;

/** Manifests that an index names itself. @throws FleetError as parseManifest */
export const namedBy = (index: Buffer): readonly Digest[] => {
  const parsed = parseManifest(index, 'an image index');
  return 'manifests' in parsed ? childrenOf(parsed).map(({ digest }) => digest) : [];
};
