import type { Digest } from '../../digest.ts';
import type { ImagePolicy } from '../../formats/bundle/image-policy.ts';
import { UNREADABLE } from './certified-signature.ts';
import type { ImageSignature } from './read-signatures.ts';
import { signatureKey, verifiesWith } from './signature-key.ts';

/** Signatures found for one image, and the digests that they may refer to: its manifest, and indexes that name it. */
export type FoundSignatureSet = {
  readonly signatures: readonly ImageSignature[];
  readonly about: ReadonlySet<Digest>;
};

type Signers = Pick<ImagePolicy, 'certificates' | 'keys'>;

/** True if the signature satisfies the policy: one valid signature by one of its keys or certificates is enough. */
export const satisfiesPolicy = async (
  signature: ImageSignature,
  policy: Signers,
  about: ReadonlySet<Digest>,
): Promise<boolean> => isAbout(signature, about) && (await whyUnsigned(signature, policy)) === undefined;

const isAbout = (signature: Pick<ImageSignature, 'about'>, about: ReadonlySet<Digest>): boolean =>
  signature.about.some((digest) => about.has(digest));

/**
 * Checks each signature with the keys, also one with a certificate: `cosign sign --key --certificate` attaches one to a signature by a key.
 * @returns undefined if one of these signers signed; otherwise why its certificate does not count, or '' where no certificate was judged
 */
export const whyUnsigned = async (
  { signed, signature, certified }: Pick<ImageSignature, 'signed' | 'signature' | 'certified'>,
  { keys, certificates }: Signers,
): Promise<string | undefined> => {
  if (keys.some((pem) => verifiesWith(signatureKey(pem), signed, signature))) return undefined;
  if (!certified || !certificates) return '';
  if (certified === 'unreadable') return UNREADABLE;
  // Read by the few that have such a policy. The library comes first: the error of a module whose import fails is kept, and a later call must try again.
  await import('./certificate-library.ts');
  const { judgeCertificate } = await import('./judge-certificate.ts');
  return judgeCertificate({ signed, certified }, certificates);
};

/** The reason why no signature counts, as the end of a sentence that begins with 'the image ...'. */
export const whyUnsatisfied = async (
  { signatures, about }: FoundSignatureSet,
  policy: ImagePolicy,
): Promise<string> => {
  const signer = signersOf(policy);
  if (signatures.length === 0) return `has no signature, and must have one by ${signer}`;
  const own = signatures.filter((signature) => isAbout(signature, about));
  if (own.length === 0)
    return `has no signature by ${signer}: the signatures beside it are for another image`;
  const reasons = await Promise.all(own.map((one) => whyUnsigned(one, policy)));
  const reason = reasons.find((one) => one);
  return `is signed, but not by ${signer}${reason ? `: ${reason}` : ''}`;
};

/** Names signers in messages: each key by the start of its fingerprint, each certificate by identity and issuer. */
export const nameSigners = ({ keys, certificates }: Signers) => ({
  fingerprints: keys.map((pem) => signatureKey(pem).fingerprint.slice(0, 16)),
  identities: (certificates?.signers ?? []).map(({ identity, issuer }) => `${identity} by ${issuer}`),
});

const signersOf = (policy: ImagePolicy): string => {
  const { name, keys, certificates } = policy;
  const { fingerprints, identities } = nameSigners(policy);
  const key = `${keys.length === 1 ? 'the key' : `any of the ${keys.length} keys`} of ImagePolicy ${name} (${fingerprints.join(', ')})`;
  if (!certificates) return key;
  const certificate = `a certificate that ImagePolicy ${name} names (${identities.join(', ')})`;
  return keys.length === 0 ? certificate : `${key} or ${certificate}`;
};
