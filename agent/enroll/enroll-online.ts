import { FleetError, isFleetError } from '#bundles/errors';
import { ENROLL_PATH, type EnrollAnswer, type EnrollRequest } from '#bundles/formats/events/hub-api';
import { formatChannel } from '#bundles/names';
import { formatTime, type Timestamp } from '#bundles/time';
import { fingerprint } from '#bundles/trust/keys/key';
import { judgeOffer } from '../acquire/offers/judge-offer.ts';
import { storeAccepted } from '../acquire/offers/store-accepted.ts';
import type { Agent } from '../store/agent.ts';
import { type HubOptions, openHub } from '../hub/hub-client.ts';
import { forgetIdentity } from '../store/identity.ts';
import { offerFromAnswer } from './offer-from-answer.ts';
import { keepCertificate } from '../hub/certificate.ts';
import { fetchRoot } from './fetch-root.ts';
import type { Request } from '../model/request.ts';
import { takeIdentity, type IdentityRequest } from './take-identity.ts';

/** `fleet` undefined: the fleet that the pinned root names. */
export type OnlineEnrollment = Omit<IdentityRequest, 'fleet'> & { readonly fleet: string | undefined };

export type EnrolledOnline = {
  /** SHA-256 of the public key. */
  readonly fingerprint: string;
  readonly fleet: string;
  readonly rootVersion: number;
  /** True for a development root. */
  readonly devRoot: boolean;
  /** The channel that the site statement assigns to this agent. */
  readonly channel: string;
  readonly siteVersion: number;
  readonly certificateUntil: Timestamp;
};

/** Limit for a certificate, 64 roots and a site statement with a megabyte of values, all in base64. */
const MAX_ANSWER_BYTES = 52 << 20;

/**
 * Enrols over the network. The root is verified by its SHA-256, the hub by the root's authority, and this agent by a one-time
 * token. The answer is accepted as an offer from a medium. After a kill, the same command with the same token continues.
 * @throws FleetError ROOT_*, TOKEN_INVALID, CERTIFICATE_INVALID, HUB_UNREACHABLE, HUB_REFUSED, ALREADY_ENROLLED, or the code
 *   with which acceptance refuses the offer
 */
export const enrollOnline = async (
  base: Omit<Agent, 'identity'>,
  wanted: OnlineEnrollment,
  url: string,
  token: string,
  options: HubOptions,
): Promise<EnrolledOnline> => {
  const { state, edge, signal } = base;
  const clock = { now: edge.now(), trusted: edge.clockTrusted };
  const root = await fetchRoot(url, wanted.pinnedRoot, wanted.fleet, clock, options, signal);
  const { identity, key, fresh } = await takeIdentity(state, edge, { ...wanted, fleet: root.fleet });
  await using hub = openHub(url, { authorities: root.agentCertificates }, options);
  const body: EnrollRequest = { token, request: JSON.parse(identity.request) as Request };
  let answer: Partial<EnrollAnswer>;
  try {
    answer = (await hub.post(ENROLL_PATH, body, MAX_ANSWER_BYTES, signal)) as Partial<EnrollAnswer>;
  } catch (error) {
    // A refused first enrolment leaves no identity, so that it can be tried again with corrected arguments.
    if (fresh && isFleetError(error) && !error.retryable) forgetIdentity(state);
    throw error;
  }
  if (typeof answer?.certificate !== 'string') throw noCertificate(url);
  const { certificate, authority = '' } = answer;
  const own = await keepCertificate(state.directory, identity, { certificate, authority }, root, edge.now());
  const agent: Agent = { ...base, identity };
  const accepted = await judgeOffer(agent, await offerFromAnswer(answer.documents, identity.site, url));
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
    hint: 'Check that this is the address of a hub',
  });
