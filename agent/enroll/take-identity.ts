import { rm } from 'node:fs/promises';
import { canonicalJson } from '#bundles/json/canonical';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Channel } from '#bundles/names';
import { GENESIS } from '#bundles/formats/events/event';
import { formatTime } from '#bundles/time';
import { createCertificateRequest } from '#bundles/trust/root/certificate-request';
import { type HostFacts, signFacts } from '#bundles/trust/root/host-facts';
import type { SigningKey } from '#bundles/trust/keys/key';
import { signRequest } from '#bundles/trust/root/sign-request';
import type { Edge } from '../model/edge.ts';
import { appendEvent } from '../store/outbox/outbox.ts';
import { findIdentity, fullName, type Identity, insertIdentity } from '../store/identity.ts';
import type { State } from '../store/state.ts';
import { loadOrMakeRecipient } from '../hub/age-identity.ts';
import { loadKey, createKey } from '../hub/agent-key.ts';
import { certificateFile } from '../hub/certificate.ts';
import { askWithRecipient, recipientFields } from './ask-with-recipient.ts';
import type { Request } from '../model/request.ts';

/** The identity, channel and labels that an agent requests. */
export type IdentityRequest = {
  readonly fleet: string;
  readonly site: string;
  readonly agent: string;
  readonly channel: Channel;
  readonly labels: Readonly<Record<string, string>>;
  readonly pinnedRoot: Digest;
  /** Of this machine; only a new request takes them. */
  readonly facts?: HostFacts | undefined;
  /** One-time token that a request on a medium proves. It is not part of the request. */
  readonly token?: string | undefined;
};

/**
 * Creates this agent's key, age identity and request, or returns the existing ones for the same arguments.
 * @throws FleetError ALREADY_ENROLLED for other arguments, KEY_MISSING, KEY_FORMAT, PERMISSION, DISK_FULL
 */
export const takeIdentity = async (
  state: State,
  edge: Edge,
  identityRequest: IdentityRequest,
): Promise<{ readonly identity: Identity; readonly key: SigningKey; readonly fresh: boolean }> => {
  const known = findIdentity(state);
  if (known) checkSame(known, identityRequest);
  if (known) {
    const key = await loadKey({ state, identity: known });
    const { token } = identityRequest;
    return {
      identity: await askWithRecipient(state, known, key, { now: edge.now(), token }),
      key,
      fresh: false,
    };
  }
  // That of a lost state has another key.
  await rm(certificateFile(state.directory), { force: true });
  const key = await createKey(state.directory);
  return { identity: await insert(state, edge, identityRequest, key), key, fresh: true };
};

const insert = async (
  state: State,
  edge: Edge,
  identityRequest: IdentityRequest,
  key: SigningKey,
): Promise<Identity> => {
  const { fleet, site, agent, channel, labels, pinnedRoot } = identityRequest;
  const csr = await createCertificateRequest({ fleet, site, agent }, key);
  const at = formatTime(edge.now());
  const asked = await recipientFields(identityRequest, await loadOrMakeRecipient(state.directory), at, key);
  const { facts = {}, token } = identityRequest;
  const factsSignature = await signFacts({ fleet, site, agent, facts, at }, key);
  const fields: Request = {
    fleet,
    site,
    agent,
    channel,
    labels,
    request: csr,
    ...(Object.keys(facts).length > 0 && { facts, factsSignature, factsAt: at }),
    ...asked,
  };
  const request = await signRequest(fields, key, token);
  const identity: Identity = {
    fleet,
    site,
    agent,
    key: key.public.pem,
    pinnedRoot,
    request: canonicalJson(request),
  };
  const store = state.db.transaction(() => {
    insertIdentity(state, identity, GENESIS);
    appendEvent(
      { state, identity, edge },
      { type: 'enrolled', detail: { channel, operator: edge.operator } },
    );
  });
  store.immediate();
  return identity;
};

/** @throws FleetError ALREADY_ENROLLED if a requested value differs from the enrolled one */
export const checkSame = (known: Identity, identityRequest: IdentityRequest): void => {
  const { channel, labels } = JSON.parse(known.request) as Request;
  const before: IdentityRequest = { ...known, channel, labels };
  const others = FLAGS.flatMap(([name, flag]) =>
    canonicalJson(before[name] ?? null) === canonicalJson(identityRequest[name] ?? null) ? [] : [flag],
  );
  if (others.length === 0) return;
  throw new FleetError(
    'ALREADY_ENROLLED',
    `this is ${known.fleet}/${fullName(known)} already, enrolled with another ${others.join(', ')}`,
    {
      hint:
        'Give the same values to write the request again. The platform team can give it another channel; where another value was ' +
        'mistyped and nothing was imported yet, remove the state directory and enrol again. For another agent use another --state',
    },
  );
};

/** Requested values and their flags, for the message. */
const FLAGS = [
  ['fleet', '--fleet'],
  ['site', '--site'],
  ['agent', '--name'],
  ['channel', '--channel'],
  ['labels', '--label'],
  ['pinnedRoot', '--root-sha256'],
] as const satisfies readonly (readonly [keyof IdentityRequest, string])[];
