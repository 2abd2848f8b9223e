import { canonicalJson } from '#bundles/json/canonical';
import type { RecipientOwner } from '#bundles/trust/age/recipient';
import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import { parsePublicKey, type SigningKey } from '#bundles/trust/keys/key';
import { isSignedRequest, signRequest } from '#bundles/trust/root/sign-request';
import { hashToken, tokenId } from '#bundles/trust/root/token-key';
import { type Identity, saveRequest } from '../store/identity.ts';
import type { State } from '../store/state.ts';
import { loadOrMakeRecipient } from '../hub/age-identity.ts';
import { loadKey } from '../hub/agent-key.ts';
import type { Request } from '../model/request.ts';

/**
 * Returns the identity with a signed request that contains this agent's signed age recipient (docs/bundle-format.md sections 11 and
 * 16). An agent without an age identity, with another one than in its request, with a request of an earlier version or with
 * another token gets a new request, which is stored.
 * @param token one-time token that the request is to prove
 * @throws FleetError KEY_FORMAT, PERMISSION, DISK_FULL
 */
export const askWithRecipient = async (
  state: State,
  identity: Identity,
  key: SigningKey,
  { now, token }: { readonly now: Date; readonly token?: string | undefined },
): Promise<Identity> => {
  const request = JSON.parse(identity.request) as Request;
  const recipient = await loadOrMakeRecipient(state.directory);
  const isCurrent = request.recipient === recipient && (await isSigned(request, identity));
  if (isCurrent && isWhole(request, identity) && proves(request, token)) return identity;
  const fields = isCurrent
    ? request
    : { ...request, ...(await recipientFields(identity, recipient, after(request.at, now), key)) };
  const text = canonicalJson(await signRequest(fields, key, token));
  saveRequest(state, text);
  return { ...identity, request: text };
};

/** Called at each start: adds a recipient to a request without one. Does not replace a lost age identity. */
export const addRecipientToRequest = async (
  state: State,
  identity: Identity,
  now: Date,
): Promise<Identity> => {
  const { recipient } = JSON.parse(identity.request) as Request;
  return recipient === undefined
    ? askWithRecipient(state, identity, await loadKey({ state, identity }), { now })
    : identity;
};

export const recipientFields = async (
  { fleet, site, agent }: RecipientOwner,
  recipient: string,
  at: Timestamp,
  key: SigningKey,
): Promise<Pick<Request, 'recipient' | 'recipientSignature' | 'at'>> => {
  const { signRecipient } = await import('#bundles/trust/age/recipient');
  const claim = { fleet, site, agent, recipient, at };
  return { recipient, recipientSignature: await signRecipient(claim, key), at };
};

/** Whether the agent's key signed all of a request, which has no token in clear text. */
const isWhole = (request: Request, { key }: Identity): boolean =>
  request.token === undefined &&
  request.signature !== undefined &&
  isSignedRequest(request, request.signature, parsePublicKey(key));

const proves = ({ proof }: Request, token: string | undefined): boolean =>
  proof?.token === (token === undefined ? undefined : tokenId(hashToken(token)));

const isSigned = async (request: Request, { key }: Identity): Promise<boolean> => {
  const { recipient, recipientSignature } = request;
  if (recipient === undefined || recipientSignature === undefined) return false;
  const { isSignedRecipient } = await import('#bundles/trust/age/recipient');
  return isSignedRecipient({ ...request, recipient }, recipientSignature, parsePublicKey(key));
};

/** A time after the last claim, even if the clock is behind it, because the newest claim of a recipient takes effect. */
const after = (last: Timestamp, now: Date): Timestamp =>
  formatTime(new Date(Math.max(now.getTime(), parseTime(last).getTime() + 1000)));
