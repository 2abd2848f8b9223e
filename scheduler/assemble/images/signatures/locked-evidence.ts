import { MAX_MANIFEST_BYTES, parseImageManifest, childrenOf } from '#bundles/formats/layout/manifest';
import { isFleetError } from '#bundles/errors';
import { readBlob } from '#bundles/formats/layout/verified';
import type { Evidence } from '#bundles/trust/images/evidence';
import {
  type ImageSignature,
  MAX_SIGNATURE_MANIFEST,
  readSignatures,
} from '#bundles/trust/images/read-signatures';
import type { ResolvedImage } from '../resolved-image.ts';
import { isFatalForJudging } from '../../../model/problems.ts';
import type { EvidencePlace } from './evidence-place.ts';

/** Signatures among the attachments that the lock file lists for an image, which are carried in any case. */
export const lockedEvidence = (attachments: readonly ResolvedImage[]): EvidencePlace => ({
  name: 'images.lock.yaml',
  indexes: async () => [],
  signatures: async (about, _names, signal) => {
    const found: ImageSignature[] = [];
    for (const attachment of attachments) {
      if (attachment.entry.size > MAX_SIGNATURE_MANIFEST) continue;
      try {
        const { signatures } = await readSignatures(attachment.source, attachment.entry.digest, signal);
        const own = signatures.filter((one) => one.about.includes(about));
        if (own.length === 0) continue;
        const evidence = await wholeOf(attachment, signal);
        found.push(...own.map((one) => ({ ...one, evidence })));
      } catch (error) {
        if (!isFleetError(error) || isFatalForJudging(error) || error.code.startsWith('REGISTRY_'))
          throw error;
      }
    }
    return found;
  },
});

const wholeOf = async (
  { entry: { digest, size, mediaType }, source }: ResolvedImage,
  signal: AbortSignal,
): Promise<Evidence> => {
  const bytes = await readBlob(source, digest, MAX_MANIFEST_BYTES, signal);
  const children = childrenOf(parseImageManifest(bytes, `the signature ${digest}`));
  const blobs = [];
  for (const descriptor of children)
    blobs.push({ descriptor, bytes: await readBlob(source, descriptor.digest, descriptor.size, signal) });
  return { manifest: { descriptor: { mediaType, digest, size }, bytes }, blobs };
};
