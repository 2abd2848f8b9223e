import { createHash, X509Certificate } from 'node:crypto';
import { FleetError } from '../../errors.ts';
import {
  bitString,
  type Der,
  decodeDer,
  encodeDer,
  oid,
  sequence,
  set,
  TAG,
  TRUE,
  time,
  unsigned,
} from './der.ts';
import type { PublicKey, SigningKey } from '../keys/key.ts';
import { encodePem } from '../keys/pem.ts';

/** X.509 version 3 (RFC 5280) as this fleet's authority writes it: P-256, SHA-256, few extensions. */

export type Validity = { readonly from: Date; readonly to: Date };

/** Signed fields of a certificate. */
export type CertificateFields = {
  /** 16 random bytes: no two certificates share a number. */
  readonly serial: Uint8Array;
  /** DER names. */
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly validity: Validity;
  readonly key: PublicKey;
  readonly extensions: readonly Buffer[];
};

/** Issuing authority: its certificate and key. */
export type Authority = { readonly certificate: string; readonly key: SigningKey };

const OID = {
  ecdsaWithSha256: oid('1.2.840.10045.4.3.2'),
  commonName: oid('2.5.4.3'),
  subjectKeyIdentifier: oid('2.5.29.14'),
  keyUsage: oid('2.5.29.15'),
  subjectAltName: oid('2.5.29.17'),
  basicConstraints: oid('2.5.29.19'),
  authorityKeyIdentifier: oid('2.5.29.35'),
  extKeyUsage: oid('2.5.29.37'),
};
/** Context tags of TBSCertificate and AuthorityKeyIdentifier. */
const VERSION = 0xa0;
const EXTENSIONS = 0xa3;
const KEY_IDENTIFIER = 0x80;

const ALGORITHM = sequence(OID.ecdsaWithSha256);
const V3 = encodeDer(VERSION, unsigned(Buffer.from([2])));

/** A certificate as PEM. */
export const signCertificate = async (fields: CertificateFields, key: SigningKey): Promise<string> => {
  const { serial, issuer, subject, validity, extensions } = fields;
  const signed = sequence(
    V3,
    unsigned(serial),
    ALGORITHM,
    issuer,
    sequence(time(validity.from), time(validity.to)),
    subject,
    fields.key.object.export({ type: 'spki', format: 'der' }),
    encodeDer(EXTENSIONS, sequence(...extensions)),
  );
  return encodePem('CERTIFICATE', sequence(signed, ALGORITHM, bitString(await key.sign(signed))));
};

/** A name of one common name. */
export const nameOf = (commonName: string): Buffer =>
  sequence(set(sequence(OID.commonName, encodeDer(TAG.utf8, Buffer.from(commonName, 'utf8')))));

/** RFC 7093 section 2, method 1: the first 160 bits of SHA-256 over the point. */
export const keyIdentifier = (key: PublicKey): Buffer => {
  const spki = decodeDer(key.object.export({ type: 'spki', format: 'der' }));
  const point = spki.children[1]?.content.subarray(1) ?? Buffer.alloc(0);
  return createHash('sha256').update(point).digest().subarray(0, 20);
};

export const subjectKey = (identifier: Uint8Array): Buffer =>
  extension(OID.subjectKeyIdentifier, false, encodeDer(TAG.octetString, identifier));

export const authorityKey = (identifier: Uint8Array): Buffer =>
  extension(OID.authorityKeyIdentifier, false, sequence(encodeDer(KEY_IDENTIFIER, identifier)));

/** An authority with path length 0, or no authority. */
export const basicConstraints = (authority: boolean): Buffer =>
  extension(OID.basicConstraints, true, authority ? sequence(TRUE, unsigned(Buffer.from([0]))) : sequence());

/** RFC 5280 section 4.2.1.3: bits from the left, and the number of unused bits. */
const USAGES = {
  /** digitalSignature */
  sign: bitString(Buffer.from([0x80]), 7),
  /** keyCertSign and cRLSign */
  certify: bitString(Buffer.from([0x06]), 1),
};

export const keyUsage = (usage: keyof typeof USAGES): Buffer => extension(OID.keyUsage, true, USAGES[usage]);

export const PURPOSE = { server: '1.3.6.1.5.5.7.3.1', client: '1.3.6.1.5.5.7.3.2' } as const;

export const extendedKeyUsage = (purpose: keyof typeof PURPOSE): Buffer =>
  extension(OID.extKeyUsage, false, sequence(oid(PURPOSE[purpose])));

/** Context tags of GeneralName. */
const NAME_TAGS = { dns: 0x82, uri: 0x86, ip: 0x87 } as const;

export type AlternativeName = { readonly kind: keyof typeof NAME_TAGS; readonly bytes: Uint8Array };

export const alternativeNames = (names: readonly AlternativeName[]): Buffer =>
  extension(
    OID.subjectAltName,
    false,
    sequence(...names.map(({ kind, bytes }) => encodeDer(NAME_TAGS[kind], bytes))),
  );

const extension = (id: Buffer, critical: boolean, value: Buffer): Buffer =>
  sequence(id, ...(critical ? [TRUE] : []), encodeDer(TAG.octetString, value));

/** @throws FleetError CERTIFICATE_INVALID */
export const parseCertificate = (pem: string, what: string): X509Certificate => {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new FleetError('CERTIFICATE_INVALID', `${what} is not an X.509 certificate`, { cause });
  }
};

/**
 * Subject and key identifier of an authority, byte for byte as in its certificate: verifiers compare bytes to find the issuer.
 * @throws FleetError CERTIFICATE_INVALID
 */
export const readIssuer = (
  authority: X509Certificate,
): { readonly name: Buffer; readonly identifier: Buffer } => {
  const parts = decoded(authority.raw).children[0]?.children ?? [];
  // Version 3 only: the parts of older ones stand elsewhere, and they have no extensions.
  const name = parts[0]?.raw.equals(V3) ? parts[5]?.raw : undefined;
  const extensions = parts.find(({ tag }) => tag === EXTENSIONS)?.children[0]?.children ?? [];
  const known = extensions.find(({ children }) => children[0]?.raw.equals(OID.subjectKeyIdentifier));
  const identifier = known?.children.at(-1)?.content;
  if (name && identifier) return { name, identifier: decoded(identifier).content };
  throw new FleetError('CERTIFICATE_INVALID', "the authority's certificate has no subject key identifier");
};

/** Decodes the DER inside an extension, which may be invalid in a valid certificate. */
const decoded = (bytes: Buffer): Der => {
  try {
    return decodeDer(bytes);
  } catch (cause) {
    throw new FleetError('CERTIFICATE_INVALID', "the authority's certificate is not DER", { cause });
  }
};
