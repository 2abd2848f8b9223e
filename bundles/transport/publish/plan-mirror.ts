import type { ClosureEntry } from '../../formats/bundle/config.ts';
import { imageBlobs, isImage } from '../../formats/bundle/image-blobs.ts';
import { compareBytes } from '../../digest.ts';
import type { BlobSource } from '../../formats/layout/blobs.ts';
import { mirrorPath } from '../registry/mirror-path.ts';
import { imageStages } from './plan-bundles.ts';
import type { ManifestUpload } from './upload-batch.ts';

/** An image at one of the places where clusters look for it by its own name. */
export type MirroredImage = {
  /** 'registry.example/team/app' */
  readonly path: string;
  /** Those of its names that lie at this path, sorted. */
  readonly names: readonly string[];
  readonly image: ClosureEntry;
  readonly stages: readonly (readonly ManifestUpload[])[];
};

/**
 * Returns every image of these closures once for each of its names, sorted by path and digest.
 * @throws FleetError IMAGE_REFUSED, MISSING_BLOB; as reachedBlobs
 */
export const planMirror = async (
  blobs: BlobSource,
  closures: readonly (readonly ClosureEntry[])[],
  signal: AbortSignal,
): Promise<readonly MirroredImage[]> => {
  const planned = new Map<string, MirroredImage>();
  for (const image of closures.flat().filter(isImage)) {
    const byPath = Map.groupBy(image.names ?? [], mirrorPath);
    if ([...byPath.keys()].every((path) => planned.has(`${path}@${image.digest}`))) continue;
    signal.throwIfAborted();
    const stages = await imageStages(blobs, await imageBlobs(blobs, image, signal), signal);
    for (const [path, names] of byPath)
      planned.set(`${path}@${image.digest}`, { path, names: names.toSorted(compareBytes), image, stages });
  }
  return [...planned].toSorted(([a], [b]) => compareBytes(a, b)).map(([, image]) => image);
};
