import { canonicalJson } from '#bundles/canonical';
import type { RecipientOwner } from '#bundles/secrets/recipient';
import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import { parsePublicKey, type SigningKey } from '#bundles/trust/key';
import { type Identity, saveRequest } from '../store/identity.ts';
import type { State } from '../store/state.ts';
import { loadOrMakeRecipient } from './age-identity.ts';
import { loadKey } from './agent-key.ts';
import type { Request } from './request.ts';

/**
 * The request with the recipient of this agent's age identity, signed (docs/bundle-format.md section 16). An agent that was
 * enrolled before there were secrets, or that lost its identity, gets a new one and asks with that from then on.
 * @throws FleetError KEY_FORMAT, PERMISSION, DISK_FULL
 */
export const askWithRecipient = async (
  state: State,
  identity: Identity,
  key: SigningKey,
  now: Date,
): Promise<Identity> => {
  const request = JSON.parse(identity.request) as Request;
  const recipient = await loadOrMakeRecipient(state.directory);
  if (request.recipient === recipient && (await isSigned(request, identity))) return identity;
  const fields = await recipientFields(identity, recipient, after(request.at, now), key);
  const text = canonicalJson({ ...request, ...fields });
  saveRequest(state, text);
  return { ...identity, request: text };
};

/** At every start: the identity is there before anybody asks for the request again. One that is lost is not replaced here. */
export const askedWithRecipient = async (state: State, identity: Identity, now: Date): Promise<Identity> => {
  const { recipient } = JSON.parse(identity.request) as Request;
  return recipient === undefined
    ? askWithRecipient(state, identity, await loadKey(state.directory), now)
    : identity;
};

export const recipientFields = async (
  { fleet, site, agent }: RecipientOwner,
  recipient: string,
  at: Timestamp,
  key: SigningKey,
): Promise<Pick<Request, 'recipient' | 'recipientSignature' | 'at'>> => {
  const { signRecipient } = await import('#bundles/secrets/recipient');
  const claim = { fleet, site, agent, recipient, at };
  return { recipient, recipientSignature: await signRecipient(claim, key), at };
};

const isSigned = async (request: Request, { key }: Identity): Promise<boolean> => {
  const { recipient, recipientSignature } = request;
  if (recipient === undefined || recipientSignature === undefined) return false;
  const { isSignedRecipient } = await import('#bundles/secrets/recipient');
  return isSignedRecipient({ ...request, recipient }, recipientSignature, parsePublicKey(key));
};

/** The newest claim counts, and a clock that stands at 1970 must not make this one older than the last. */
const after = (last: Timestamp, now: Date): Timestamp =>
  formatTime(new Date(Math.max(now.getTime(), parseTime(last).getTime() + 1000)));
