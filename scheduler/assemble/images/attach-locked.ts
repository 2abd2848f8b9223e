import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import { FleetError, toFleetError } from '#bundles/errors';
import { type ImageOrigin, resolveManifest } from './resolve-images.ts';
import type { ResolvedImage } from './resolved-image.ts';
import { type Attachment, formatAttachment } from '../../model/images/attachment.ts';

/**
 * Adds the attachments that the lock file lists for each image, as parts of the closure. The same lock file gives the same
 * bundle, even if attachments were added to the registry since. @throws FleetError MISSING_BLOB, IMAGE_MISSING; REGISTRY_*
 */
export const attachLocked = async (
  images: readonly ResolvedImage[],
  locked: ReadonlyMap<string, readonly Attachment[]>,
  origin: ImageOrigin,
  signal: AbortSignal,
): Promise<readonly ResolvedImage[]> => {
  const all: ResolvedImage[] = [];
  for (const image of images) {
    const attachments = locked.get(image.entry.digest) ?? [];
    const names = image.entry.names ?? [];
    const found: ResolvedImage[] = [];
    for (const one of attachments) {
      try {
        found.push(await resolveManifest(origin, one.digest, names, signal));
      } catch (error) {
        throw missing(toFleetError(error), one, image.entry);
      }
    }
    all.push(attachments.length === 0 ? image : withAttachments(image, attachments), ...found);
  }
  return all;
};

const withAttachments = (image: ResolvedImage, attachments: readonly Attachment[]): ResolvedImage => {
  const tags = attachments.flatMap(({ tag, digest }) => (tag === undefined ? [] : [[tag, digest] as const]));
  return {
    ...image,
    entry: {
      ...image.entry,
      attachments: [...new Set(attachments.map(({ digest }) => digest))].toSorted(compareBytes),
      ...defined({ attachmentTags: tags.length > 0 ? Object.fromEntries(tags) : undefined }),
    },
  };
};

const missing = (
  error: FleetError,
  attachment: Attachment,
  { digest, names }: ResolvedImage['entry'],
): FleetError => {
  if (error.code !== 'MISSING_BLOB' && error.code !== 'IMAGE_MISSING') return error;
  return new FleetError(
    error.code,
    `an attachment of the image ${names?.[0] ?? digest} is no longer there: ${formatAttachment(attachment)}`,
    {
      subject: digest,
      hint: 'Bring it to where the image comes from, or lock what is there now: fleet-scheduler images lock --update',
      cause: error,
    },
  );
};
