import { access, constants, stat } from 'node:fs/promises';
import { canonicalJson } from '#bundles/canonical';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { agentFolder, REQUESTS_FOLDER } from '#bundles/medium/medium';
import type { Channel } from '#bundles/names';
import { GENESIS } from '#bundles/report/event';
import { formatTime } from '#bundles/time';
import { createCertificateRequest } from '#bundles/trust/certificate-request';
import { fingerprint, type SigningKey } from '#bundles/trust/key';
import { notWritable, writeOntoMedium } from '../acquire/write-onto-medium.ts';
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

export type Enrolled = {
  /** SHA-256 of the public key: what a person compares. */
  readonly fingerprint: string;
  /** Path of the request on the medium. */
  readonly request: string;
  /** false: this agent had asked before, and the same request was written again. */
  readonly fresh: boolean;
};

/** The request, as docs/schemas/request.schema.json has it. */
type Request = Omit<Wish, 'pinnedRoot'> & { readonly request: string; readonly at: string };

/**
 * Makes this agent's key and asks, on a medium, to be taken into a fleet. Asking again with the same words writes the
 * same request again; the key is never made twice.
 * @throws FleetError ALREADY_ENROLLED for other words, MEDIUM_MISSING, PERMISSION, DISK_FULL
 */
export const enroll = async (state: State, edge: Edge, wish: Wish, medium: string): Promise<Enrolled> => {
  await checkWritable(medium);
  const known = findIdentity(state);
  if (known) checkSame(known, wish);
  const key = await loadOrMakeKey(state.directory);
  const identity = known ?? (await insert(state, edge, wish, key));
  const request = `${REQUESTS_FOLDER}/${agentFolder(fullName(identity))}.json`;
  await writeOntoMedium(medium, request, Buffer.from(identity.request));
  return { fingerprint: fingerprint(key.public), request, fresh: known === undefined };
};

const checkWritable = async (medium: string): Promise<void> => {
  const found = await stat(medium).catch(() => undefined);
  if (!found?.isDirectory()) {
    throw new FleetError('MEDIUM_MISSING', `there is no directory ${medium} to write the request to`, {
      hint: 'Is the stick mounted?',
    });
  }
  await access(medium, constants.W_OK).catch((error: unknown) => {
    throw notWritable(error, `writing onto ${medium}`);
  });
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

const checkSame = (known: Identity, wish: Wish): void => {
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
