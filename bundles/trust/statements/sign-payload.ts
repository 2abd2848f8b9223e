import { FleetError } from '../../errors.ts';
import { MAX_STATEMENT_BYTES, preAuthEncoding } from '../../formats/statements/envelope.ts';
import { canonicalBytes } from '../../json/canonical.ts';
import { IN_TOTO, SIGSTORE_BUNDLE } from '../../media-types.ts';
import type { SigningKey } from '../keys/key.ts';

/**
 * Signs an in-toto payload and returns the bytes of a sigstore bundle v0.3. The DSSE signature carries no keyid: cosign
 * counts no signature whose keyid it cannot match to the key it was given, and the hint already names the key.
 * @throws FleetError TOO_LARGE for a statement above the limit of readers
 */
export const signPayload = async (
  payload: Uint8Array,
  key: SigningKey,
  evidence?: readonly Uint8Array[],
): Promise<Buffer> => {
  const signature = await key.sign(preAuthEncoding(IN_TOTO, payload), evidence);
  const bytes = canonicalBytes({
    mediaType: SIGSTORE_BUNDLE,
    verificationMaterial: { publicKey: { hint: key.public.hint } },
    dsseEnvelope: {
      payload: Buffer.from(payload).toString('base64'),
      payloadType: IN_TOTO,
      signatures: [{ sig: signature.toString('base64') }],
    },
  });
  if (bytes.byteLength > MAX_STATEMENT_BYTES) {
    throw new FleetError(
      'TOO_LARGE',
      `the signed statement would have ${bytes.byteLength} bytes, at most ${MAX_STATEMENT_BYTES} are read`,
    );
  }
  return bytes;
};
