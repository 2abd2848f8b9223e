import { createPublicKey, type KeyObject, verify } from 'node:crypto';
import { digestOf, hexOf } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { encodePem } from '../keys/pem.ts';

/**
 * A key that images are signed with. It belongs to the builder of the image, not to a role of the fleet, so the algorithms of
 * cosign are accepted: ECDSA P-256 and RSA, both with SHA-256.
 */
export type SignatureKey = {
  /** SPKI PEM in the one usual way. */
  readonly pem: string;
  /** SHA-256 over the SPKI DER in hex: how people compare keys. */
  readonly fingerprint: string;
  readonly object: KeyObject;
};

const MAX_PEM = 4096;
const RSA_BITS = { least: 2048, most: 8192 };

/** @throws FleetError KEY_FORMAT for anything but a public key of P-256 or of RSA with 2048 to 8192 bits */
export const signatureKey = (pem: string): SignatureKey => {
  let object: KeyObject;
  try {
    if (pem.length > MAX_PEM || pem.includes('PRIVATE')) throw new TypeError('too long, or a private key');
    object = createPublicKey(pem);
  } catch (cause) {
    throw new FleetError('KEY_FORMAT', 'this is not a public key in PEM', {
      hint: 'Paste cosign.pub, or what cosign public-key prints',
      cause,
    });
  }
  if (!isTaken(object)) {
    throw new FleetError('KEY_FORMAT', 'images are verified with ECDSA P-256 or RSA keys only', {
      hint: 'cosign verifies its own signatures by key for no other',
    });
  }
  const der = object.export({ type: 'spki', format: 'der' });
  return { pem: encodePem('PUBLIC KEY', der), fingerprint: hexOf(digestOf(der)), object };
};

const isTaken = ({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): boolean => {
  if (type === 'ec') return details?.namedCurve === 'prime256v1';
  const bits = details?.modulusLength ?? 0;
  return type === 'rsa' && bits >= RSA_BITS.least && bits <= RSA_BITS.most;
};

export const verifiesWith = ({ object }: SignatureKey, signed: Uint8Array, signature: Uint8Array): boolean =>
  verify('sha256', signed, object, signature);
