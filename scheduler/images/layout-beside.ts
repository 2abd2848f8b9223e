import { isManifestType, MAX_MANIFEST_BYTES, parseManifest } from '#bundles/bundle/manifest';
import { type Digest, isDigest } from '#bundles/digest';
import { isFleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/layout/blobs';
import { type Layout, referenceOf } from '#bundles/layout/layout';
import { readBlob } from '#bundles/layout/verified';
import { ATTACHMENT_TAG } from './attachment.ts';
import type { Beside } from './find-attachments.ts';

type Here = { readonly blobs: BlobSource; readonly manifests: Layout['manifests'] };

type Contents = {
  /** By what they say they refer to. */
  readonly referrers: ReadonlyMap<Digest, readonly Digest[]>;
  readonly tags: ReadonlyMap<string, Digest>;
};

/**
 * What lies in a layout beside its images, by what it is: tools name it in different ways, or not at all. Everything that
 * index.json names, and what indexes in it name for no platform, is read once.
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
      // A damaged image is told of by who needs it.
    }
  }
  return { referrers, tags };
};
