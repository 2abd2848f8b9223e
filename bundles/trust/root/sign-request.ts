import type { EnrollRequest } from '../../formats/events/hub-api.ts';
import { canonicalJson, type Json } from '../../json/canonical.ts';
import { type PublicKey, type SigningKey, verifySignature } from '../keys/key.ts';
import { hashToken, tokenId, tokenKey } from './token-key.ts';

type Request = EnrollRequest['request'];
/** A request as read: fields that this version does not know are signed, too. */
type Fields = { readonly [field: string]: Json | undefined };

/** The bytes that the key of a token signs: every field but the proof and the signature. */
const proofBytes = ({ proof: _, signature: __, ...fields }: Fields): Buffer =>
  Buffer.from(`fleet-ferry token proof v1\n${canonicalJson(fields)}\n`);

/** The bytes that the agent's key signs: every field but the signature. */
const requestBytes = ({ signature: _, ...fields }: Fields): Buffer =>
  Buffer.from(`fleet-ferry request v1\n${canonicalJson(fields)}\n`);

/**
 * Signs a request with the agent's key and, with a one-time token, adds the proof that its sender has the token, which is not part
 * of it (docs/bundle-format.md section 11). Without a token a proof that the request has is dropped.
 */
export const signRequest = async (
  { token: _, proof: __, signature: ___, ...fields }: Request,
  key: SigningKey,
  token: string | undefined,
): Promise<Request> => {
  const proven: Request = token === undefined ? fields : { ...fields, proof: await prove(fields, token) };
  return { ...proven, signature: (await key.sign(requestBytes(proven))).toString('base64') };
};

const prove = async (fields: Fields, token: string): Promise<NonNullable<Request['proof']>> => ({
  token: tokenId(hashToken(token)),
  signature: (await tokenKey(token).sign(proofBytes(fields))).toString('base64'),
});

/** @param request the document as it was read, with fields that this version does not know */
export const isSignedRequest = (request: object, signature: string, key: PublicKey): boolean =>
  verifySignature(key, requestBytes(request as Fields), Buffer.from(signature, 'base64'));

/** Whether a proof was made with the token of this public key, for exactly these fields. */
export const isProof = (request: object, signature: string, key: PublicKey): boolean =>
  verifySignature(key, proofBytes(request as Fields), Buffer.from(signature, 'base64'));
