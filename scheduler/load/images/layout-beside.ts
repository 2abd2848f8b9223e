import { isManifestType, MAX_MANIFEST_BYTES, parseManifest } from '#bundles/formats/layout/manifest';
import { type Digest, isDigest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { type Layout, referenceOf } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import { ATTACHMENT_TAG } from '../../model/images/attachment.ts';
import type { Beside } from './find-attachments.ts';

type Here = { readonly blobs: BlobSource; readonly manifests: Layout['manifests'] };

type Contents = {
  /** By the subject in their manifests. */
  readonly referrers: ReadonlyMap<Digest, readonly Digest[]>;
  readonly tags: ReadonlyMap<string, Digest>;
};

/**
 * Attachments in a layout, found by content, because tools name them in different ways or not at all. All manifests in
 * index.json, and those without a platform in its indexes, are read once.
 */
export const layoutBeside = ({ blobs, manifests }: Here): Beside => {
  let reading: Promise<Contents> | undefined;
  const contents = (signal: AbortSignal): Promise<Contents> =>
    (reading ??= readContents({ blobs, manifests }, signal));
  return {
    blobs,
    referrers: async (about, signal) => (await contents(signal)).referrers.get(about) ?? [],
    tagged: async (tag, signal) => (await contents(signal)).tags.get(tag),
  };
};

const readContents = async ({ blobs, manifests }: Here, signal: AbortSignal): Promise<Contents> => {
  const referrers = new Map<Digest, Digest[]>();
  const tags = new Map<string, Digest>();
  for (const descriptor of manifests) {
    const name = referenceOf(descriptor)?.split(':').at(-1) ?? '';
    if (ATTACHMENT_TAG.test(name)) tags.set(name, descriptor.digest);
  }
  const seen = new Set<Digest>();
  const waiting = [...manifests];
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    signal.throwIfAborted();
    if (seen.has(next.digest) || !isManifestType(next.mediaType)) continue;
    seen.add(next.digest);
    try {
      const manifest = parseManifest(await readBlob(blobs, next.digest, MAX_MANIFEST_BYTES, signal));
      if ('manifests' in manifest) waiting.push(...manifest.manifests.filter(({ platform }) => !platform));
      else if (isDigest(manifest.subject?.digest)) {
        const { digest } = manifest.subject;
        referrers.set(digest, [...(referrers.get(digest) ?? []), next.digest]);
      }
    } catch (error) {
      if (!isFleetError(error) || error.code === 'ABORTED') throw error;
      // A damaged image is reported by the code that needs it.
    }
  }
  return { referrers, tags };
};
