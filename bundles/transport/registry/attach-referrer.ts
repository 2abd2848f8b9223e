import { type Descriptor, type ImageIndex, parseManifest } from '../../formats/layout/manifest.ts';
import { canonicalBytes } from '../../json/canonical.ts';
import { compareBytes, type Digest, hexOf } from '../../digest.ts';
import { OCI_INDEX } from '../../media-types.ts';
import type { Repository } from './registry.ts';

/**
 * Lists a pushed referrer. A registry with the referrers API does so automatically; for one without, the client keeps
 * the list under a tag (OCI distribution spec 1.1, "Pushing Manifests with Subject").
 */
export const attachReferrer = async (
  target: Pick<Repository, 'name' | 'referrers' | 'fetchManifest' | 'pushManifest'>,
  subject: Digest,
  referrer: Descriptor,
  signal: AbortSignal,
): Promise<void> => {
  const isListed = ({ digest }: Descriptor): boolean => digest === referrer.digest;
  if ((await target.referrers(subject, signal)).some(isListed)) return;
  const tag = fallbackTag(subject);
  const found = await target.fetchManifest(tag, signal);
  const before = found && parseManifest(found.bytes, `${target.name}:${tag}`);
  const others = before && 'manifests' in before ? before.manifests : [];
  const index: ImageIndex = {
    schemaVersion: 2,
    mediaType: OCI_INDEX,
    manifests: [...others.filter((one) => !isListed(one)), referrer].toSorted((a, b) =>
      compareBytes(a.digest, b.digest),
    ),
  };
  await target.pushManifest(tag, { mediaType: OCI_INDEX, bytes: canonicalBytes(index) }, signal);
};

/** The fallback tag for clients that get 404 from the referrers API. */
export const fallbackTag = (subject: Digest): string => `sha256-${hexOf(subject)}`;

/** Tag of cosign's older signatures of a manifest. */
export const signatureTag = (subject: Digest): string => `sha256-${hexOf(subject)}.sig`;
