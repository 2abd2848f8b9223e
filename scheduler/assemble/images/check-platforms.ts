import { FleetError, isFleetError } from '#bundles/errors';
import { chooseManifest } from './choose-manifest.ts';
import type { ResolvedImage } from './resolved-image.ts';

/**
 * Judges whether the machines of a cluster type can run its images as they are pinned: a lock file, or a digest in a manifest, may be
 * older than the cluster type's list of platforms.
 * @param platforms 'linux/amd64' ...; none: nothing is judged
 * @throws FleetError IMAGE_MISSING with the digest of the image as subject; LAYOUT_INVALID
 */
export const checkPlatforms = async (
  images: readonly ResolvedImage[],
  platforms: readonly string[],
  signal: AbortSignal,
): Promise<void> => {
  for (const { entry, source } of images) {
    const { digest, size, mediaType, names } = entry;
    // Signatures and SBOMs have no names, and run nowhere.
    if (names === undefined) continue;
    try {
      await chooseManifest(source, { digest, size, mediaType }, platforms, names[0] ?? digest, signal);
    } catch (error) {
      if (!isFleetError(error) || error.code !== 'IMAGE_MISSING') throw error;
      throw new FleetError('IMAGE_MISSING', error.message, {
        subject: digest,
        hint: 'If the registry has it for that platform, run fleet-scheduler images lock, or write its digest; otherwise build it for it',
        cause: error,
      });
    }
  }
};
