import type { Digest } from '../../digest.ts';
import type { ImagePolicy } from '../../formats/bundle/image-policy.ts';
import type { ImageSignature } from './read-signatures.ts';
import { signatureKey, verifiesWith } from './signature-key.ts';

/** Signatures found for one image, and the digests that they may refer to: its manifest, and indexes that name it. */
export type FoundSignatureSet = {
  readonly signatures: readonly ImageSignature[];
  readonly about: ReadonlySet<Digest>;
};

/** True if the signature satisfies the policy: one valid signature by one of its keys is enough. */
export const satisfiesPolicy = (
  signature: ImageSignature,
  { keys }: Pick<ImagePolicy, 'keys'>,
  about: ReadonlySet<Digest>,
): boolean =>
  signature.about.some((digest) => about.has(digest)) &&
  keys.some((pem) => verifiesWith(signatureKey(pem), signature.signed, signature.signature));

/** The reason why no signature counts, as the end of a sentence that begins with 'the image ...'. */
export const whyUnsatisfied = (
  { signatures, about }: FoundSignatureSet,
  { name, keys }: ImagePolicy,
): string => {
  const key = `${keys.length === 1 ? 'the key' : `any of the ${keys.length} keys`} of ImagePolicy ${name} (${keys
    .map((pem) => signatureKey(pem).fingerprint.slice(0, 16))
    .join(', ')})`;
  if (signatures.length === 0) return `has no signature, and must have one by ${key}`;
  const own = signatures.filter((signature) => signature.about.some((digest) => about.has(digest)));
  return own.length === 0
    ? `has no signature by ${key}: the signatures beside it are for another image`
    : `is signed, but not by ${key}`;
};
