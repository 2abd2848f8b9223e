import { type Descriptor, type ImageIndex, parseManifest } from '../bundle/manifest.ts';
import { canonicalBytes } from '../canonical.ts';
import { compareBytes, type Digest, hexOf } from '../digest.ts';
import { OCI_INDEX } from '../media-types.ts';
import type { Repository } from './registry.ts';

/**
 * Makes a referrer that is in the repository findable. A registry with the referrers API has listed it by itself; for one
 * without, the client keeps the list under a tag (OCI distribution spec 1.1, "Pushing Manifests with Subject").
 */
export const attachReferrer = async (
  shelf: Pick<Repository, 'name' | 'referrers' | 'fetchManifest' | 'pushManifest'>,
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

/** Where cosign's older signatures of a manifest lie. */
export const signatureTag = (subject: Digest): string => `sha256-${hexOf(subject)}.sig`;
