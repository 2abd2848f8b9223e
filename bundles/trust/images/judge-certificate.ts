import { X509Certificate } from 'node:crypto';
import type { Bundle } from '@sigstore/bundle';
import type { SignedEntity, Signer, TrustMaterial } from '@sigstore/verify';
import type { CertificatePolicy, CertificateSigner } from '../../formats/bundle/image-policy.ts';
import { toSignedEntity, toTrustMaterial, VerificationError, Verifier } from './certificate-library.ts';
import { UNREADABLE } from './certified-signature.ts';
import { matchImage } from '../../formats/bundle/match-image.ts';
import { readTrustedRoot } from './trusted-root.ts';

/** The extended use that a certificate for signing code has (RFC 5280). */
const CODE_SIGNING = '1.3.6.1.5.5.7.3.3';

/**
 * Verifies a signature by certificate with the trusted root of a policy alone: that an authority of it issued the certificate, that the
 * signature was made while the certificate was valid, that the logs of the root have it, and who the certificate is for.
 * @param signed the bytes that the signature is over
 * @returns undefined if it holds, otherwise why not, as the end of a sentence
 */
export const judgeCertificate = (
  { signed, certified }: { readonly signed: Buffer; readonly certified: Bundle },
  policy: CertificatePolicy,
): string | undefined => {
  const trusted = trustedBy(policy);
  if (!trusted) return 'the trusted root of the policy cannot be read';
  let entity: SignedEntity;
  let certificate: X509Certificate;
  let times: readonly Date[];
  try {
    entity = toSignedEntity(certified, signed);
    certificate = certificateOf(certified);
    times = timesOf(entity);
  } catch {
    return UNREADABLE;
  }
  const untimed = whyUntimed(certificate, times);
  if (untimed !== undefined) return untimed;
  if (!certificate.keyUsage?.includes(CODE_SIGNING)) return 'its certificate is not one for signing code';
  let signer: Signer;
  try {
    signer = verifierOf(trusted).verify(entity);
  } catch (error) {
    return whyUnverified(error);
  }
  return whyOther(signer, policy.signers);
};

const trust = new WeakMap<CertificatePolicy, TrustMaterial>();

/** @returns undefined for a root that cannot be read: the office refuses one, but a bundle's config may have it */
const trustedBy = (policy: CertificatePolicy): TrustMaterial | undefined => {
  const known = trust.get(policy);
  if (known) return known;
  try {
    const read = toTrustMaterial(readTrustedRoot(JSON.parse(policy.trustedRoot)));
    trust.set(policy, read);
    return read;
  } catch {
    return undefined;
  }
};

/** Demands of a signature what the root names: an instance without logs of certificates or signatures gives no proof of them. */
const verifierOf = (trusted: TrustMaterial): Verifier =>
  new Verifier(trusted, {
    ctlogThreshold: trusted.ctlogs.length > 0 ? 1 : 0,
    tlogThreshold: trusted.tlogs.length > 0 ? 1 : 0,
    timestampThreshold: 1,
  });

const certificateOf = ({ verificationMaterial: { content } }: Bundle): X509Certificate => {
  if (content.$case !== 'certificate') throw new TypeError('not a signature by certificate');
  return new X509Certificate(content.certificate.rawBytes);
};

/** The time of an entry counts only with a promise of inclusion, which signs it. */
const timesOf = ({ timestamps }: SignedEntity): readonly Date[] =>
  timestamps.flatMap((one) => {
    if (one.$case === 'timestamp-authority') return [one.timestamp.signingTime];
    const { inclusionPromise, integratedTime } = one.tlogEntry;
    return inclusionPromise ? [new Date(Number(integratedTime) * 1000)] : [];
  });

/** Before any signature is verified, because the answer to an expired certificate is another than to an unknown authority. */
const whyUntimed = (
  { validFromDate: from, validToDate: to }: X509Certificate,
  times: readonly Date[],
): string | undefined => {
  if (times.length === 0)
    return `its certificate ended at ${minute(to)}, and neither a signed timestamp nor a log entry with a signed time proves that it was signed before`;
  const outside = times.find((time) => !(time >= from && time <= to));
  return (
    outside &&
    `it was signed at ${minute(outside)}, and its certificate was valid from ${minute(from)} to ${minute(to)}`
  );
};

const minute = (time: Date): string =>
  Number.isNaN(time.getTime()) ? 'an unknown time' : `${time.toISOString().slice(0, 19)}Z`;

const WHY: Readonly<Record<string, string>> = {
  TIMESTAMP_ERROR: 'its signed timestamp is by no authority of the trusted root, or of another signature',
  CERTIFICATE_ERROR:
    'no authority of the trusted root issued its certificate, or no log of certificates in it has it',
  TLOG_BODY_ERROR: 'its log entry is of another signature',
  TLOG_ERROR: 'it has no log entry, and the trusted root names logs',
  TLOG_INCLUSION_PROOF_ERROR: 'its log entry is in no log of the trusted root',
  TLOG_INCLUSION_PROMISE_ERROR: 'its log entry is in no log of the trusted root',
  TLOG_MISSING_INCLUSION_ERROR: 'nothing proves that its log entry is in a log',
  SIGNATURE_ERROR: 'its signature does not match its content or its certificate',
};

/** Parsers of certificates and timestamps throw errors of many kinds for bytes that are neither. */
const whyUnverified = (error: unknown): string =>
  (error instanceof VerificationError ? WHY[error.code] : undefined) ?? UNREADABLE;

const whyOther = (
  { identity: { subjectAlternativeName: name = '', extensions: { issuer = '' } = {} } = {} }: Signer,
  signers: readonly CertificateSigner[],
): string | undefined => {
  const named = signers.filter(({ identity }) => matchImage(identity, name));
  if (named.some((one) => one.issuer === issuer)) return undefined;
  return named.length > 0
    ? `its certificate for ${shown(name)} was issued on the word of ${shown(issuer)}`
    : `its certificate is for ${shown(name)} by ${shown(issuer)}`;
};

const shown = (text: string): string => JSON.stringify(text.slice(0, 300));
