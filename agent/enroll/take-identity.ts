import { canonicalJson } from '#bundles/canonical';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { EnrollRequest } from '#bundles/hub/hub-api';
import type { Channel } from '#bundles/names';
import { GENESIS } from '#bundles/report/event';
import { formatTime } from '#bundles/time';
import { createCertificateRequest } from '#bundles/trust/certificate-request';
import type { SigningKey } from '#bundles/trust/key';
import type { Edge } from '../edge.ts';
import { appendEvent } from '../report/outbox.ts';
import { findIdentity, fullName, type Identity, insertIdentity } from '../store/identity.ts';
import type { State } from '../store/state.ts';
import { loadOrMakeKey } from './agent-key.ts';

/** Who an agent wants to be. */
export type Wish = {
  readonly fleet: string;
  readonly site: string;
  readonly agent: string;
  readonly channel: Channel;
  readonly labels: Readonly<Record<string, string>>;
  readonly pinnedRoot: Digest;
};

/** The request, as docs/schemas/request.schema.json has it. */
export type Request = EnrollRequest['request'];

/**
 * Makes this agent's key and its request, once: asked again with the same words, they are the same again.
 * @throws FleetError ALREADY_ENROLLED for other words, KEY_FORMAT, PERMISSION, DISK_FULL
 */
export const takeIdentity = async (
  state: State,
  edge: Edge,
  wish: Wish,
): Promise<{ readonly identity: Identity; readonly key: SigningKey; readonly fresh: boolean }> => {
  const known = findIdentity(state);
  if (known) checkSame(known, wish);
  const key = await loadOrMakeKey(state.directory);
  return { identity: known ?? (await insert(state, edge, wish, key)), key, fresh: known === undefined };
};

const insert = async (state: State, edge: Edge, wish: Wish, key: SigningKey): Promise<Identity> => {
  const { fleet, site, agent, channel, labels, pinnedRoot } = wish;
  const csr = await createCertificateRequest({ fleet, site, agent }, key);
  const at = formatTime(edge.now());
  const request: Request = { fleet, site, agent, channel, labels, request: csr, at };
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

/** @throws FleetError ALREADY_ENROLLED where the words are others */
export const checkSame = (known: Identity, wish: Wish): void => {
  const { channel, labels } = JSON.parse(known.request) as Request;
  const before: Wish = { ...known, channel, labels };
  const words = ({ fleet, site, agent, channel, labels, pinnedRoot }: Wish): string =>
    canonicalJson({ fleet, site, agent, channel, labels, pinnedRoot });
  if (words(before) === words(wish)) return;
  throw new FleetError(
    'ALREADY_ENROLLED',
    `this is ${known.fleet}/${fullName(known)} already, enrolled with other values`,
    {
      hint: 'Give the same values to write the request again, or another --state for another agent',
    },
  );
};
