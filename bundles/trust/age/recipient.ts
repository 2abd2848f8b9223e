import { FleetError, type Place } from '../../errors.ts';
import type { Timestamp } from '../../time.ts';
import { type PublicKey, type SigningKey, verifySignature } from '../keys/key.ts';

/** The agent that a recipient belongs to. */
export type RecipientOwner = { readonly fleet: string; readonly site: string; readonly agent: string };

/** An agent's recipient since `at`; the newest claim is valid. */
export type RecipientClaim = RecipientOwner & { readonly recipient: string; readonly at: Timestamp };

/** 32 bytes in 52 digits of five bits: the last digit has one bit of them, so it is q or s; six more are the check sum. */
const SHAPE = /^age1[02-9ac-hj-np-z]{51}[qs][02-9ac-hj-np-z]{6}$/;
const CONTEXT = 'fleet-ferry recipient v1';

/** An X25519 recipient with a right check sum. Every command asks this of its settings, and age takes long to load. */
export const isRecipient = (text: string): boolean => SHAPE.test(text) && hasBech32Checksum(text);

/** @param what name of the recipient for messages @throws FleetError KEY_FORMAT */
export const parseRecipient = (text: string, what: string, at?: Place): string => {
  if (isRecipient(text)) return text;
  throw new FleetError(
    'KEY_FORMAT',
    `${what} is not an age recipient: ${JSON.stringify(text.slice(0, 80))}`,
    {
      at,
      hint: 'Copy it whole: age1 and 58 more letters and digits, as age-keygen or the agent printed it',
    },
  );
};

export type AgeIdentity = { readonly identity: string; readonly recipient: string };

/** A new X25519 identity `AGE-SECRET-KEY-1...` with its recipient. */
export const generateAgeIdentity = async (): Promise<AgeIdentity> => {
  const { generateX25519Identity, identityToRecipient } = await import('age-encryption');
  const identity = await generateX25519Identity();
  return { identity, recipient: await identityToRecipient(identity) };
};

/** The recipient of an identity. @throws FleetError KEY_FORMAT, without a word of the identity */
export const recipientOf = async (identity: string): Promise<string> => {
  const { identityToRecipient } = await import('age-encryption');
  try {
    return await identityToRecipient(identity);
  } catch {
    throw new FleetError('KEY_FORMAT', 'not an age identity', {
      hint: 'It is a line that begins with AGE-SECRET-KEY-1',
    });
  }
};

/**
 * The bytes that an agent signs about its recipient: an attacker who replaced the recipient in a request on a medium could read
 * the site's secrets (docs/bundle-format.md section 16). The time prevents an old medium from restoring an old recipient.
 */
const statementOf = ({ fleet, site, agent, recipient, at }: RecipientClaim): Buffer =>
  Buffer.from(`${CONTEXT}\n${fleet}/${site}/${agent}\n${recipient}\n${at}\n`);

/** The request's `recipientSignature`: base64 of the agent key's signature. */
export const signRecipient = async (claim: RecipientClaim, key: SigningKey): Promise<string> =>
  (await key.sign(statementOf(claim))).toString('base64');

export const isSignedRecipient = (claim: RecipientClaim, signature: string, key: PublicKey): boolean =>
  verifySignature(key, statementOf(claim), Buffer.from(signature, 'base64'));

const ALPHABET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
const GENERATOR = [0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3] as const;

/** True if the checksum of a lower-case Bech32 text is valid (BIP 173, without its limit of length). */
const hasBech32Checksum = (text: string): boolean => {
  const at = text.lastIndexOf('1');
  const prefix = Array.from(text.slice(0, at), (char) => char.charCodeAt(0));
  const data = Array.from(text.slice(at + 1), (char) => ALPHABET.indexOf(char));
  if (at < 1 || data.includes(-1)) return false;
  let sum = 1;
  for (const value of [...prefix.map((code) => code >> 5), 0, ...prefix.map((code) => code & 31), ...data]) {
    const top = sum >>> 25;
    sum = ((sum & 0x1ffffff) << 5) ^ value;
    for (const [bit, factor] of GENERATOR.entries()) if ((top >>> bit) & 1) sum ^= factor;
  }
  return sum === 1;
};
