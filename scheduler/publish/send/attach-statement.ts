import { type Descriptor, type ImageIndex, parseManifest } from '#bundles/bundle/manifest';
import { canonicalBytes } from '#bundles/canonical';
import { compareBytes, type Digest, hexOf } from '#bundles/digest';
import { OCI_INDEX } from '#bundles/media-types';
import type { Shelf } from './destination.ts';

/**
 * Makes a referrer that is in the repository findable. A registry with the referrers API has listed it by itself; for one
 * without, the client keeps the list under a tag (OCI distribution spec 1.1, "Pushing Manifests with Subject").
 */
export const attachStatement = async (
  shelf: Shelf,
  subject: Digest,
  referrer: Descriptor,
  signal: AbortSignal,
): Promise<void> => {
  const isListed = ({ digest }: Descriptor): boolean => digest === referrer.digest;
  if ((await shelf.referrers(subject, signal)).some(isListed)) return;
  const tag = fallbackTag(subject);
  const found = await shelf.fetchManifest(tag, signal);
  const before = found && parseManifest(found.bytes, `${shelf.name}:${tag}`);
  const others = before && 'manifests' in before ? before.manifests : [];
  const index: ImageIndex = {
    schemaVersion: 2,
    mediaType: OCI_INDEX,
    manifests: [...others.filter((one) => !isListed(one)), referrer].toSorted((a, b) =>
      compareBytes(a.digest, b.digest),
    ),
  };
  await shelf.pushManifest(tag, { mediaType: OCI_INDEX, bytes: canonicalBytes(index) }, signal);
};

/** Where clients look that were told 404 by the referrers API. */
export const fallbackTag = (subject: Digest): string => `sha256-${hexOf(subject)}`;
