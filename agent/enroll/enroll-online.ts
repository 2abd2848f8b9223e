import { FleetError, isFleetError } from '#bundles/errors';
import { ENROLL_PATH, type EnrollAnswer, type EnrollRequest } from '#bundles/hub/hub-api';
import { formatChannel } from '#bundles/names';
import { formatTime, type Timestamp } from '#bundles/time';
import { fingerprint } from '#bundles/trust/key';
import { judgeOffer } from '../acquire/judge-offer.ts';
import { storeAccepted } from '../acquire/store-accepted.ts';
import type { Agent } from '../agent.ts';
import { type HubOptions, openHub } from '../hub/hub-client.ts';
import { forgetIdentity } from '../store/identity.ts';
import { carriedOffer } from './carried-offer.ts';
import { keepCertificate } from './certificate.ts';
import { fetchRoot } from './fetch-root.ts';
import type { Request } from './request.ts';
import { takeIdentity, type Wish } from './take-identity.ts';

/** undefined fleet: that of the root whose digest was given. */
export type OnlineWish = Omit<Wish, 'fleet'> & { readonly fleet: string | undefined };

export type EnrolledOnline = {
  /** SHA-256 of the public key. */
  readonly fingerprint: string;
  readonly fleet: string;
  readonly rootVersion: number;
  /** The root is one for development. */
  readonly devRoot: boolean;
  /** What the office says that this agent follows. */
  readonly channel: string;
  readonly siteVersion: number;
  readonly certificateUntil: Timestamp;
};

/** A certificate, 64 roots, a site statement with a megabyte of values, all in base64. */
const MAX_ANSWER_BYTES = 52 << 20;

/**
 * Joins a fleet over the network: the root by its SHA-256, the hub by the root's authority, this agent by a one-time
 * token. What the answer carries is accepted as from a stick. Killed anywhere, the same command with the same token goes on.
 * @throws FleetError ROOT_*, TOKEN_INVALID, CERTIFICATE_INVALID, HUB_UNREACHABLE, HUB_REFUSED, ALREADY_ENROLLED and those of acceptance
 */
export const enrollOnline = async (
  base: Omit<Agent, 'identity'>,
  wish: OnlineWish,
  url: string,
  token: string,
  options: HubOptions,
): Promise<EnrolledOnline> => {
  const { state, edge, signal } = base;
  const clock = { now: edge.now(), trusted: edge.clockTrusted };
  const root = await fetchRoot(url, wish.pinnedRoot, wish.fleet, clock, options, signal);
  const { identity, key, fresh } = await takeIdentity(state, edge, { ...wish, fleet: root.fleet });
  await using hub = openHub(url, { authorities: root.agentCertificates }, options);
  const body: EnrollRequest = { token, request: JSON.parse(identity.request) as Request };
  let answer: Partial<EnrollAnswer>;
  try {
    answer = (await hub.post(ENROLL_PATH, body, MAX_ANSWER_BYTES, signal)) as Partial<EnrollAnswer>;
  } catch (error) {
    // A no leaves nothing behind: with a word corrected, the next try is a first one.
    if (fresh && isFleetError(error) && !error.retryable) forgetIdentity(state);
    throw error;
  }
  if (typeof answer?.certificate !== 'string') throw noCertificate(url);
  const { certificate, authority = '' } = answer;
  const own = await keepCertificate(state.directory, identity, { certificate, authority }, root, edge.now());
  const agent: Agent = { ...base, identity };
  const accepted = await judgeOffer(agent, await carriedOffer(answer.documents, identity.site, url));
  storeAccepted(agent, accepted);
  const { site } = accepted.accepted;
  return {
    fingerprint: fingerprint(key.public),
    fleet: root.fleet,
    rootVersion: accepted.accepted.root.version,
    devRoot: accepted.accepted.root.dev,
    channel: formatChannel(site.agent.channel),
    siteVersion: site.predicate.version,
    certificateUntil: formatTime(own.to),
  };
};

const noCertificate = (url: string): FleetError =>
  new FleetError('HUB_REFUSED', `${url} answers without a certificate`, {
    hint: 'Is this the address of a hub?',
  });
