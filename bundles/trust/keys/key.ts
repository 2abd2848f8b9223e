import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  hkdfSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';
import { FleetError } from '../../errors.ts';
import { encodePem } from './pem.ts';

/**
 * The one key algorithm of everything that is signed: ECDSA P-256 with SHA-256, DER signatures. The only one that stock
 * cosign both signs and verifies by key (docs/decisions/0005).
 */

export type PublicKey = {
  /** SPKI PEM, exactly as node:crypto and openssl write it. */
  readonly pem: string;
  /** base64(SHA-256(SPKI DER)), the publicKey.hint of a sigstore bundle. */
  readonly hint: string;
  readonly object: KeyObject;
};

/** A key that can sign: from a file, hardware or a signer process. */
export type SigningKey = {
  readonly public: PublicKey;
  /**
   * @param evidence signature files that a remote signer checks before it signs: for a release, the
   *   statements of its bundles. A local key ignores it.
   */
  readonly sign: (bytes: Uint8Array, evidence?: readonly Uint8Array[]) => Promise<Buffer>;
  /**
   * A secret for one purpose, derived from the private key (HKDF-SHA256); undefined: the private key is in hardware or another process.
   */
  readonly secretFor?: (purpose: string) => Buffer;
  /** The key of a signer process, which judges the evidence. */
  readonly judges?: true;
};

const isP256 = (key: KeyObject): boolean =>
  key.asymmetricKeyType === 'ec' && key.asymmetricKeyDetails?.namedCurve === 'prime256v1';

const describePublic = (
  object: KeyObject,
  der: Uint8Array = object.export({ type: 'spki', format: 'der' }),
): PublicKey => ({
  pem: encodePem('PUBLIC KEY', der),
  hint: createHash('sha256').update(der).digest('base64'),
  object,
});

/** @throws FleetError KEY_FORMAT for anything but a P-256 public key in SPKI PEM */
export const parsePublicKey = (pem: string): PublicKey => {
  let object: KeyObject;
  try {
    if (pem.includes('PRIVATE')) throw new TypeError('this is a private key');
    object = createPublicKey(pem);
  } catch (cause) {
    throw new FleetError('KEY_FORMAT', 'this is not a public key in PEM', { cause });
  }
  // Exporting the key costs more than parsing it; the text already has the bytes.
  const der = plainSpki(pem);
  if (der) return describePublic(object, der);
  if (!isP256(object)) throw new FleetError('KEY_FORMAT', 'only ECDSA P-256 keys are used');
  throw new FleetError('KEY_FORMAT', 'the public key is not in the canonical form', {
    hint: 'Write it with: openssl pkey -pubin -in key.pem -outform PEM',
  });
};

/** A key from its PKCS#8 PEM. @throws FleetError KEY_FORMAT */
export const loadSigningKey = (pem: string): SigningKey => {
  let object: KeyObject;
  try {
    object = createPrivateKey(pem);
  } catch (cause) {
    throw new FleetError('KEY_FORMAT', 'this is not a private key in plain PKCS#8 PEM', { cause });
  }
  if (!isP256(object)) throw new FleetError('KEY_FORMAT', 'only ECDSA P-256 keys are used');
  return {
    public: describePublic(createPublicKey(object)),
    sign: async (bytes) => sign('sha256', bytes, object),
    secretFor: (purpose) =>
      Buffer.from(
        hkdfSync('sha256', object.export({ type: 'pkcs8', format: 'der' }), '', `fleet-ferry ${purpose}`, 32),
      ),
  };
};

/** A fresh private key as PKCS#8 PEM. Randomness is the operating system's. */
export const generatePrivateKey = (): string =>
  generateKeyPairSync('ec', { namedCurve: 'P-256' })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();

export const verifySignature = (key: PublicKey, bytes: Uint8Array, signature: Uint8Array): boolean =>
  verify('sha256', bytes, key.object, signature);

/** SHA-256 over the SPKI DER in hex, for comparing keys by eye. */
export const fingerprint = (key: PublicKey): string => Buffer.from(key.hint, 'base64').toString('hex');

/** The same of a PEM that was parsed before it was stored, without parsing it again: of thousands that takes a tenth of the time. @throws FleetError KEY_FORMAT */
export const fingerprintOfStored = (pem: string): string => {
  const der = plainSpki(pem);
  return der ? createHash('sha256').update(der).digest('hex') : fingerprint(parsePublicKey(pem));
};

/** SubjectPublicKeyInfo of P-256 by named curve, up to the 04 of an uncompressed point (RFC 5480). */
const HEAD = Buffer.from('3059301306072a8648ce3d020106082a8648ce3d03010703420004', 'hex');
const LENGTH = HEAD.length + 64;
/** As text: 178 characters and a line end; more is something else. */
const MAX_TEXT = 256;

/**
 * The DER bytes of a P-256 key whose PEM is in canonical form; undefined for every other text. OpenSSL also accepts compressed
 * and hybrid points, and each form has another hint: one key could count twice towards a threshold, or bypass a deny list of
 * hints. Does not check that the point is on the curve.
 */
const plainSpki = (pem: string): Buffer | undefined => {
  const text = pem.trimEnd();
  if (text.length > MAX_TEXT) return undefined;
  const der = Buffer.from(text.split('\n').slice(1, -1).join(''), 'base64');
  const isPlain = der.length === LENGTH && der.subarray(0, HEAD.length).equals(HEAD);
  return isPlain && encodePem('PUBLIC KEY', der).trimEnd() === text ? der : undefined;
};
