import { randomBytes } from 'node:crypto';
import { FleetError } from '#bundles/errors';
import type { CertificateAnswer, CertificateRenewal } from '#bundles/hub/hub-api';
import { type CertificateRequest, parseCertificateRequest } from '#bundles/trust/certificate-request';
import { issueClientCertificate } from '#bundles/trust/issue-certificate';
import { fingerprint } from '#bundles/trust/key';
import { parseDocument } from '#bundles/validate';
import { enrollAgent } from '../hub/enroll/enroll-agents.ts';
import { isOlderRecipient } from '../hub/enroll/plan-enrolment.ts';
import { checkRecipient, requestPath } from '../hub/enroll/read-requests.ts';
import { agentId, channelOf, labelsOf, type ToldRecipient } from '../hub/sites/agent-record.ts';
import { issueSite } from '../hub/sites/issue-site.ts';
import { listSecrets } from '../secrets/list-secrets.ts';
import { type Caller, checkCurrentKey } from './authenticate-agent.ts';
import type { Context } from './context.ts';

export type Renewed = {
  readonly answer: CertificateAnswer;
  readonly newKey: boolean;
  /** 'older': not taken, as a newer one is known; undefined: none was told, or the one that is known. */
  readonly recipient: 'taken' | 'older' | undefined;
  /** Sets of its site that are meant for it and that only sealing again lets it read. */
  readonly reseal: readonly string[];
};

/**
 * The next certificate of an agent: for the key it has, or for a new one that the holder of the old one asks for. The
 * request is signed by the key it is for, so whoever gets a certificate has its key. Asked again, it answers again: an
 * old certificate, even of the key before, may fetch one for the key that counts now. An age recipient that comes along is
 * the agent's from then on; an older one keeps nobody from a certificate.
 * @throws FleetError SCHEMA, REQUEST_INVALID, WRONG_SITE, REVOKED
 */
export const renewCertificate = async (body: unknown, caller: Caller, context: Context): Promise<Renewed> => {
  const { authority, clock } = context;
  const now = clock();
  const renewal = parseDocument<CertificateRenewal>('hub-certificate-request', body, 'the request');
  const { request } = renewal;
  const asked = parseCertificateRequest(request);
  const { fleet, site, agent } = caller.certified;
  if (asked.fleet !== fleet || asked.site !== site || asked.agent !== agent) {
    throw new FleetError(
      'WRONG_SITE',
      `the request is for ${agentId(asked.site, asked.agent)}, the certificate is of ${caller.agent.id}`,
    );
  }
  const told = toldRecipient(asked, renewal);
  const newKey = asked.key.pem !== caller.agent.key;
  if (newKey) checkCurrentKey(caller);
  const older = !newKey && isOlderRecipient(caller.agent, told);
  const news = !newKey && !older && told !== undefined && told.recipient !== caller.agent.recipient;
  const changed = newKey || news;
  if (changed) await changeAgent(asked, told, caller, context);
  const certificate = await issueClientCertificate(asked, asked.key, authority, {
    now,
    serial: randomBytes(16),
  });
  return {
    answer: { certificate, authority: authority.certificate },
    newKey,
    recipient: older ? 'older' : changed && told !== undefined ? 'taken' : undefined,
    reseal: changed ? await lockedFor(caller, context) : [],
  };
};

/** @throws FleetError REQUEST_INVALID, and SCHEMA for one without its time */
const toldRecipient = (
  { fleet, site, agent, key }: CertificateRequest,
  { recipient, recipientSignature, at = '' }: CertificateRenewal,
): ToldRecipient | undefined =>
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
 * As an enrolment does: with another key a new life of the agent's chain, with another recipient another one to seal to,
 * and the site's next statement.
 */
const changeAgent = (
  { site, agent, key }: CertificateRequest,
  recipient: ToldRecipient | undefined,
  caller: Caller,
  context: Context,
): Promise<void> =>
  context.hub.store.transact(async (tx) => {
    const id = agentId(site, agent);
    const now = context.clock();
    const current = await tx.selectFrom('agent').selectAll().where('id', '=', id).executeTakeFirstOrThrow();
    if (current.key !== caller.agent.key || current.revoked_at !== null)
      throw new FleetError('REVOKED', `${id} was revoked or enrolled anew while it asked`);
    const request = {
      path: requestPath(id),
      id,
      site,
      agent,
      key,
      fingerprint: fingerprint(key),
      channel: channelOf(current),
      labels: labelsOf(current),
      ...(recipient && { recipient }),
    };
    await enrollAgent(tx, request, { replaceKey: true, update: false }, now);
    await issueSite(tx, site, context.signer, now);
  });
