import { createHmac, timingSafeEqual } from 'node:crypto';
import { FleetError } from '#bundles/errors';

/** Seconds that the sender's clock may differ from ours, as Standard Webhooks recommends. */
const TOLERANCE_S = 300;

/**
 * The headers of a message as Standard Webhooks 1.0 writes them: HMAC-SHA256 over id, time and body.
 * @param secret `whsec_<base64>`, or any other text, whose bytes are the key
 */
export const signWebhook = (
  secret: string,
  { id, body, now }: { readonly id: string; readonly body: Uint8Array; readonly now: Date },
): Readonly<Record<'webhook-id' | 'webhook-timestamp' | 'webhook-signature', string>> => {
  const timestamp = String(Math.floor(now.getTime() / 1000));
  return {
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signatureOf(secret, id, timestamp, body).toString('base64')}`,
  };
};

/**
 * Verifies that a message was signed with the secret, for this id and not long ago.
 * @param header reads a header by its lower-case name
 * @returns the time that was signed, in seconds
 * @throws FleetError TOKEN_INVALID
 */
export const verifySigned = (
  secret: string,
  header: (name: string) => string | undefined,
  { id, body, now }: { readonly id: string; readonly body: Uint8Array; readonly now: Date },
): number => {
  const [given, timestamp, signatures] = ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map(header);
  if (given === undefined || timestamp === undefined || signatures === undefined)
    throw invalid('the answer is not signed: webhook-id, webhook-timestamp or webhook-signature is missing');
  if (given !== id)
    throw invalid(`the answer has the webhook-id ${JSON.stringify(given.slice(0, 80))}, not ${id}`);
  if (!/^[0-9]{1,12}$/.test(timestamp)) throw invalid('webhook-timestamp is not a number of seconds');
  const expected = signatureOf(secret, id, timestamp, body);
  const isSigned = signatures.split(' ').some((one) => {
    const said = Buffer.from(one.startsWith('v1,') ? one.slice(3) : '', 'base64');
    return said.byteLength === expected.byteLength && timingSafeEqual(said, expected);
  });
  if (!isSigned) throw invalid('the signature does not match the secret of checks');
  const apart = Math.abs(Number(timestamp) - now.getTime() / 1000);
  if (apart > TOLERANCE_S)
    throw invalid(
      `the answer was signed ${Math.round(apart)} s before or after now, at most ${TOLERANCE_S} s are allowed`,
    );
  return Number(timestamp);
};

const signatureOf = (secret: string, id: string, timestamp: string, body: Uint8Array): Buffer =>
  createHmac('sha256', keyOf(secret)).update(`${id}.${timestamp}.`).update(body).digest();

const keyOf = (secret: string): Buffer =>
  secret.startsWith('whsec_') ? Buffer.from(secret.slice('whsec_'.length), 'base64') : Buffer.from(secret);

const invalid = (message: string): FleetError =>
  new FleetError('TOKEN_INVALID', message, {
    hint: 'Sign as Standard Webhooks says, with the secret in checkSecretFile',
  });
