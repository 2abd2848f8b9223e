import type { Bundle } from '#bundles/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import type { MediumParts } from '#bundles/medium/medium';
import { deltasFor } from './rebuild-blobs.ts';
import type { Source } from './source.ts';

/**
 * Numbers of the parts of a set that bring a blob: where these bundles have it left out, of the patch that makes it. Nobody signs
 * patches: one for a blob that comes whole says nothing of where that is.
 */
export const partsWith = (
  source: Source & { readonly parts: MediumParts },
  bundles: readonly Bundle[],
): ((digest: Digest) => readonly number[]) => {
  const patches = new Map(deltasFor(source, bundles).map(({ digest, patch }) => [digest, patch.digest]));
  return (digest) => source.parts.partOf(patches.get(digest) ?? digest);
};
