import { randomBytes } from 'node:crypto';
import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import type { CertificateAnswer, CertificateRenewal } from '#bundles/formats/events/hub-api';
import { formatTime } from '#bundles/time';
import { parseDocument } from '#bundles/json/validate';
import { fingerprint } from '#bundles/trust/keys/key';
import { type CertificateRequest, parseCertificateRequest } from '#bundles/trust/root/certificate-request';
import { issueClientCertificate } from '#bundles/trust/root/issue-certificate';
import { agentId, channelOf, labelsOf, type ReportedRecipient } from '../../sites/agent-record.ts';
import { enrollAgent } from '../../sites/enroll/enroll-agents.ts';
import { isOlderRecipient } from '../../sites/enroll/plan-enrolment.ts';
import { checkRecipient, requestPath } from '../../sites/enroll/read-requests.ts';
import { issueSite } from '../../sites/issue-site.ts';
import { raiseAlarm } from '../../ingest/reports/raise-alarm.ts';
import { listSecrets } from '../../sites/secrets/list-secrets.ts';
import type { Context } from '../context.ts';
import type { Caller } from './caller.ts';
import { checkCurrentKey } from './authenticate-agent.ts';

export type Renewed = {
  readonly answer: CertificateAnswer;
  /** 'older': ignored, because a newer one is known. undefined: the request has none, or the known one. */
  readonly recipient: 'taken' | 'older' | undefined;
  /** Names of secret sets that are meant for the agent and must be sealed again before it can read them. */
  readonly reseal: readonly string[];
};

/**
 * Issues the next certificate of an agent, for its current key. The request is signed by that key, which proves possession. Requests
 * may be repeated: an older certificate, even of the previous key, may obtain one for the current key. A request for another key is
 * refused and raises an alarm: who has the certificate may be a copy of the machine, so a person decides about keys. An age recipient in the request replaces the known one, unless it is older; an
 * older one is ignored and does not prevent the certificate.
 * @throws FleetError SCHEMA, REQUEST_INVALID; WRONG_SITE if the request is for another agent; REVOKED; ALREADY_ENROLLED for another
 *   key
 */
export const renewCertificate = async (body: unknown, caller: Caller, context: Context): Promise<Renewed> => {
  const { authority, clock } = context;
  const now = clock();
  const renewal = parseDocument('hub-certificate-request', body, 'the request');
  const { request } = renewal;
  const asked = parseCertificateRequest(request);
  const { fleet, site, agent } = caller.certified;
  if (asked.fleet !== fleet || asked.site !== site || asked.agent !== agent) {
    throw new FleetError(
      'WRONG_SITE',
      `the request is for ${agentId(asked.site, asked.agent)}, the certificate is of ${caller.agent.id}`,
    );
  }
  const reported = reportedRecipient(asked, renewal);
  if (asked.key.pem !== caller.agent.key) {
    checkCurrentKey(caller);
    throw await otherKey(asked, caller, context);
  }
  const older = isOlderRecipient(caller.agent, reported);
  const changed = !older && reported !== undefined && reported.recipient !== caller.agent.recipient;
  if (changed) await changeAgent(asked, reported, caller, context);
  const certificate = await issueClientCertificate(asked, asked.key, authority, {
    now,
    serial: randomBytes(16),
  });
  const taken = changed ? 'taken' : undefined;
  return {
    answer: { certificate, authority: authority.certificate },
    recipient: older ? 'older' : taken,
    reseal: changed ? await lockedFor(caller, context) : [],
  };
};

/** Raises the alarm about a key that somebody asked for with the certificate of another one. */
const otherKey = async (
  asked: CertificateRequest,
  { agent }: Caller,
  { hub: { store }, clock }: Context,
): Promise<FleetError> => {
  const shown = fingerprint(asked.key);
  const source = {
    agent: agent.id,
    life: agent.life,
    digest: `sha256:${shown}` as const,
    received_at: formatTime(clock()),
  };
  const message = `a certificate for another key, ${shown}, was asked for`;
  await store.transact((tx) => raiseAlarm(tx, source, { code: 'KEY_COPIED', message, events: null }));
  return new FleetError('ALREADY_ENROLLED', `${agent.id} has another key since ${agent.enrolled_at}`, {
    subject: shown,
    hint: 'A person decides about a new key: enrol again, with a token made with --replace-key, or by a medium with "sites enroll --replace-key --accept <fingerprint>"',
  });
};

/** The verified recipient of the request. @throws FleetError REQUEST_INVALID; SCHEMA if it has no time */
const reportedRecipient = (
  { fleet, site, agent, key }: CertificateRequest,
  { recipient, recipientSignature, at = '' }: CertificateRenewal,
): ReportedRecipient | undefined =>
  recipient === undefined
    ? undefined
    : checkRecipient({ fleet, site, agent, recipient, at, recipientSignature }, key, 'the request');

const lockedFor = async (
  { certified: { site, agent } }: Caller,
  { hub: { store } }: Context,
): Promise<readonly string[]> =>
  (await listSecrets(store.db, site, undefined))
    .filter(({ locked }) => locked.includes(agent))
    .map(({ name }) => name);

/**
 * Changes the recipient as an enrolment does, and issues the next site statement. @throws FleetError REVOKED if the agent was revoked or enrolled again meanwhile
 */
const changeAgent = (
  { site, agent, key }: CertificateRequest,
  recipient: ReportedRecipient | undefined,
  caller: Caller,
  context: Context,
): Promise<void> =>
  context.hub.store.transact(async (tx) => {
    const id = agentId(site, agent);
    const now = context.clock();
    const current = await tx.selectFrom('agent').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    if (current.key !== caller.agent.key || current.revoked_at !== null)
      throw new FleetError('REVOKED', `${id} was revoked or enrolled again while its request was handled`);
    const request = defined({
      path: requestPath(id),
      id,
      site,
      agent,
      key,
      fingerprint: fingerprint(key),
      requested: { channel: channelOf(current), labels: labelsOf(current) },
      exposesToken: false,
      facts: {},
      recipient,
    });
    await enrollAgent(
      tx,
      request,
      { replaceKey: false, update: false, by: { reason: 'renewal of its certificate' } },
      now,
    );
    await issueSite(tx, site, context.signer, now);
  });
