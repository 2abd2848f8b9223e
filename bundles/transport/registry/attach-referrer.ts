import { type Descriptor, type ImageIndex, parseManifest } from '../../formats/layout/manifest.ts';
import { canonicalBytes } from '../../json/canonical.ts';
import { compareBytes, type Digest, hexOf } from '../../digest.ts';
import { FleetError, isFleetError } from '../../errors.ts';
import { OCI_INDEX } from '../../media-types.ts';
import { retry, type RetryPolicy } from '../../retry.ts';
import type { Repository } from './registry.ts';

/** Writes of one tag that others write as well. Later ones are needed if another writer replaced it, or the registry answers with what it had before. */
const WRITES: RetryPolicy = { firstMs: 200, longestMs: 3200, tries: 6, jitter: 'longer' };

/**
 * Writes a tag that others write as well. Registries have no compare-and-set, so it is read again after it is written. An entry is still lost
 * if another publisher read the tag before this one wrote it, and writes it after this one has read it again; publishing again adds it.
 * @param merge what the tag must name in addition to what it names now; undefined if nothing is missing @throws FleetError BUSY, REGISTRY_*
 */
export const writeShared = async (
  target: Pick<Repository, 'name' | 'fetchManifest' | 'pushManifest'>,
  tag: string,
  merge: (
    there: Buffer | undefined,
  ) => { readonly mediaType: string; readonly bytes: Uint8Array } | undefined,
  signal: AbortSignal,
): Promise<void> => {
  const toWrite = async () => merge((await target.fetchManifest(tag, signal))?.bytes);
  const write = async (): Promise<void> => {
    const merged = await toWrite();
    if (!merged) return;
    await target.pushManifest(tag, merged, signal);
    if (await toWrite())
      throw new FleetError('BUSY', `another publisher keeps writing ${target.name}:${tag}`, {
        hint: 'Run it again when the other one is done',
      });
  };
  await retry(WRITES, write, { isRetryable: (error) => isFleetError(error, 'BUSY'), signal });
};

/**
 * Lists a pushed referrer. A registry with the referrers API does so automatically; for one without, the client keeps
 * the list under a tag (OCI distribution spec 1.1, "Pushing Manifests with Subject").
 * @throws FleetError BUSY, REGISTRY_*
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
  const merge = (there: Buffer | undefined) => {
    const before = there && parseManifest(there, `${target.name}:${tag}`);
    const others = before && 'manifests' in before ? before.manifests : [];
    if (others.some(isListed)) return undefined;
    const index: ImageIndex = {
      schemaVersion: 2,
      mediaType: OCI_INDEX,
      manifests: [...others, referrer].toSorted((a, b) => compareBytes(a.digest, b.digest)),
    };
    return { mediaType: OCI_INDEX, bytes: canonicalBytes(index) };
  };
  await writeShared(target, tag, merge, signal);
};

/** The fallback tag for clients that get 404 from the referrers API. */
export const fallbackTag = (subject: Digest): string => `sha256-${hexOf(subject)}`;

/** Tag of cosign's older signatures of a manifest. */
export const signatureTag = (subject: Digest): string => `sha256-${hexOf(subject)}.sig`;
