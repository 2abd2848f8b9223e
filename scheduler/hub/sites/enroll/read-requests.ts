import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { agentFolder, type OpenMedium, REQUESTS_FOLDER } from '#bundles/formats/medium/medium';
import type { Channel } from '#bundles/names';
import { isRecipient, isSignedRecipient, type RecipientClaim } from '#bundles/trust/age/recipient';
import { parseStrictJson } from '#bundles/json/strict-json';
import type { Request } from '#bundles/schemas/types/request';
import { parseTime } from '#bundles/time';
import { parseCertificateRequest } from '#bundles/trust/root/certificate-request';
import { areSignedFacts, type HostFacts } from '#bundles/trust/root/host-facts';
import { fingerprint, type PublicKey } from '#bundles/trust/keys/key';
import { parseDocument } from '#bundles/json/validate';
import { isSignedRequest } from '#bundles/trust/root/sign-request';
import { orRefuse, type Refused } from '../../refused.ts';
import { agentId, type Labels, type ReportedRecipient } from '../agent-record.ts';

/** Channel and labels that an agent asks for. */
export type RequestedEnrolment = { readonly channel: Channel; readonly labels: Labels };

/** The claim that the sender of a request has a one-time token: its public id, and what is to be checked with its key (isProof). */
export type TokenProof = { readonly token: string; readonly signature: string; readonly document: object };

/** A verified enrolment request. The agent has proven possession of the key. */
export type EnrolmentRequest = {
  readonly path: string;
  /** '<site>/<agent>' */
  readonly id: string;
  readonly site: string;
  readonly agent: string;
  readonly key: PublicKey;
  /** SHA-256 of the key, in the form that people compare. */
  readonly fingerprint: string;
  /** Signed by the key, or from the network. undefined: on a medium and unsigned, so that anybody may have chosen it. */
  readonly requested: RequestedEnrolment | undefined;
  /** Channel that a person named together with the key. */
  readonly agreed?: Channel;
  /** age recipient, signed by the key. Agents of versions without secrets send none. */
  readonly recipient?: ReportedRecipient;
  /** Signed by the key. Data of the machine. */
  readonly facts: HostFacts;
  /** Unchecked. */
  readonly proof?: TokenProof;
  /** Has a one-time token in clear text, as agents of earlier versions wrote it. */
  readonly exposesToken: boolean;
};

const MAX_BYTES = 64 << 10;
const MAX_REQUESTS = 10_000;

/**
 * Reads every fleet/requests/<id>.json (docs/bundle-format.md section 11) and verifies the proof of possession. An invalid
 * request is added to `refused` and does not stop the others.
 * @returns requests sorted by path
 * @throws FleetError TOO_MANY
 */
export const readRequests = async (
  medium: OpenMedium,
  fleet: string,
  refused: Refused[],
): Promise<readonly EnrolmentRequest[]> => {
  const paths = (await medium.files(REQUESTS_FOLDER)).filter(
    (path) => path.endsWith('.json') && !path.endsWith('-needs.json'),
  );
  if (paths.length > MAX_REQUESTS)
    throw new FleetError(
      'TOO_MANY',
      `${medium.path} has ${paths.length} requests, at most ${MAX_REQUESTS} are read`,
    );
  const requests: EnrolmentRequest[] = [];
  for (const path of paths) {
    const request = await orRefuse(refused, path, async () =>
      parseRequest(path, await medium.readFile(path, MAX_BYTES), fleet),
    );
    if (request) requests.push(request);
  }
  return requests;
};

/** @throws FleetError BAD_JSON, TOO_LARGE, TOO_DEEP, SCHEMA, WRONG_FLEET, REQUEST_INVALID */
const parseRequest = (path: string, bytes: Buffer, fleet: string): EnrolmentRequest => {
  const document = parseStrictJson(bytes, { maxBytes: MAX_BYTES }, path);
  const request = checkRequest(document, path, fleet, 'medium');
  if (path !== request.path)
    throw new FleetError('REQUEST_INVALID', `${path} is for ${request.id}, which asks at ${request.path}`);
  return request;
};

/**
 * Verifies a request document.
 * @param what name of the document in messages
 * @param from 'medium': others can have changed what is not signed
 * @throws FleetError SCHEMA, WRONG_FLEET; REQUEST_INVALID for a bad certificate request, signature or recipient, with the fingerprint
 */
export const checkRequest = (
  document: unknown,
  what: string,
  fleet: string,
  from: 'medium' | 'network',
): EnrolmentRequest => {
  const file = parseDocument('request', document, what);
  if (file.fleet !== fleet)
    throw new FleetError('WRONG_FLEET', `${what} is of fleet ${file.fleet}, this is ${fleet}`);
  const certified = parseCertificateRequest(file.request);
  const id = agentId(file.site, file.agent);
  if (certified.fleet !== file.fleet || agentId(certified.site, certified.agent) !== id) {
    throw new FleetError(
      'REQUEST_INVALID',
      `${what} is for ${id}, but its certificate request is for ${certified.fleet}/${certified.site}/${certified.agent}`,
    );
  }
  const signed = file.signature !== undefined;
  if (signed && !isSignedRequest(document as object, file.signature, certified.key))
    throw new FleetError(
      'REQUEST_INVALID',
      `${what} of ${id} was changed after the agent with the key ${fingerprint(certified.key)} signed it`,
      {
        subject: fingerprint(certified.key),
        hint: 'Let the agent ask again: fleet-agent enroll; if it is refused again, somebody changes requests on the way',
      },
    );
  const requested = {
    channel: { environment: file.channel.environment, clusterType: file.channel.clusterType },
    labels: file.labels,
  };
  return {
    path: requestPath(id),
    id,
    site: file.site,
    agent: file.agent,
    key: certified.key,
    fingerprint: fingerprint(certified.key),
    requested: signed || from === 'network' ? requested : undefined,
    facts: checkFacts(file, certified.key, what),
    ...defined({ proof: file.proof ? { ...file.proof, document: document as object } : undefined }),
    exposesToken: file.token !== undefined,
    ...defined({
      recipient:
        file.recipient !== undefined
          ? checkRecipient({ ...file, recipient: file.recipient }, certified.key, what)
          : undefined,
    }),
  };
};

/**
 * Verifies that the agent's key signed the recipient. A recipient substituted by someone else could decrypt the site's secrets
 * (docs/bundle-format.md section 16). @throws FleetError REQUEST_INVALID
 */
export const checkRecipient = (
  claim: RecipientClaim & { readonly recipientSignature?: string | undefined },
  key: PublicKey,
  what: string,
): ReportedRecipient => {
  const { recipient, recipientSignature = '', at } = claim;
  if (!isRecipient(recipient))
    throw new FleetError('REQUEST_INVALID', `${what} names an invalid recipient: ${recipient}`);
  parseTime(at, `the time of ${what}`);
  if (isSignedRecipient(claim, recipientSignature, key)) return { recipient, at };
  throw new FleetError('REQUEST_INVALID', `the recipient in ${what} is not signed by the key of its agent`, {
    subject: fingerprint(key),
    hint: 'Let the agent ask again: fleet-agent enroll; if it is refused again, somebody changed the request',
  });
};

/** @throws FleetError REQUEST_INVALID for facts that the agent's key did not sign */
const checkFacts = (
  { fleet, site, agent, facts, factsSignature = '', factsAt = '' }: Request,
  key: PublicKey,
  what: string,
): HostFacts => {
  if (facts === undefined) return {};
  if (areSignedFacts({ fleet, site, agent, facts, at: factsAt }, factsSignature, key)) return facts;
  throw new FleetError('REQUEST_INVALID', `the facts in ${what} are not signed by the key of its agent`, {
    subject: fingerprint(key),
    hint: 'Let the agent ask again: fleet-agent enroll; if it is refused again, somebody changed the request',
  });
};

/** Path of an agent's request on a medium: one per agent, so that two requests cannot claim the same name. */
export const requestPath = (id: string): string => `${REQUESTS_FOLDER}/${agentFolder(id)}.json`;
