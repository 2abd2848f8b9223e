import { type Digest, digestOf } from '#bundles/digest';
import { parseEnvelope } from '#bundles/formats/statements/envelope';
import { fingerprint } from '#bundles/trust/keys/key';
import type { TrustRoot } from '#bundles/trust/root/root';
import { officerSignatures } from '#bundles/trust/root/root-signatures';

/** A statement, and the fingerprints of its signers. */
export type SignedStatement = { readonly digests: readonly Digest[]; readonly keys: readonly string[] };

/** The signers of verified signature files, all over one payload. */
export const signersOfFiles = (envelopes: readonly Uint8Array[]): SignedStatement => {
  const parsed = envelopes.map((bytes) => parseEnvelope(bytes, 'a statement'));
  return {
    digests: [...new Set(parsed.map(({ payload }) => digestOf(payload)))],
    keys: [...new Set(parsed.map(({ hint }) => Buffer.from(hint, 'base64').toString('hex')))].toSorted(),
  };
};

/** A root, and the officers that signed it. */
export const signersOfRoot = (root: TrustRoot): SignedStatement => ({
  digests: [root.digest],
  keys: officerSignatures(root, root.bytes).signed.map(fingerprint).toSorted(),
});

/** 'signed by 3f0c12ab90de': the fingerprints of the keys, as `root inspect` begins them. */
export const signedBy = ({ keys }: SignedStatement): string =>
  `signed by ${keys.map((key) => key.slice(0, 12)).join(' and ')}`;
