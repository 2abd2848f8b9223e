import { randomBytes } from 'node:crypto';
import { FleetError } from '#bundles/errors';
import type { CertificateAnswer, CertificateRenewal } from '#bundles/hub/hub-api';
import { type CertificateRequest, parseCertificateRequest } from '#bundles/trust/certificate-request';
import { issueClientCertificate } from '#bundles/trust/issue-certificate';
import { fingerprint } from '#bundles/trust/key';
import { parseDocument } from '#bundles/validate';
import { enrollAgent } from '../hub/enroll/enroll-agents.ts';
import { requestPath } from '../hub/enroll/read-requests.ts';
import { agentId, channelOf, labelsOf } from '../hub/sites/agent-record.ts';
import { issueSite } from '../hub/sites/issue-site.ts';
import { type Caller, checkCurrentKey } from './authenticate-agent.ts';
import type { Context } from './context.ts';

export type Renewed = { readonly answer: CertificateAnswer; readonly newKey: boolean };

/**
 * The next certificate of an agent: for the key it has, or for a new one that the holder of the old one asks for. The
 * request is signed by the key it is for, so whoever gets a certificate has its key. Asked again, it answers again: an
 * old certificate, even of the key before, may fetch one for the key that counts now.
 * @throws FleetError SCHEMA, REQUEST_INVALID, WRONG_SITE, REVOKED
 */
export const renewCertificate = async (body: unknown, caller: Caller, context: Context): Promise<Renewed> => {
  const { authority, clock } = context;
  const now = clock();
  const { request } = parseDocument<CertificateRenewal>('hub-certificate-request', body, 'the request');
  const asked = parseCertificateRequest(request);
  const { fleet, site, agent } = caller.certified;
  if (asked.fleet !== fleet || asked.site !== site || asked.agent !== agent) {
    throw new FleetError(
      'WRONG_SITE',
      `the request is for ${agentId(asked.site, asked.agent)}, the certificate is of ${caller.agent.id}`,
    );
  }
  const newKey = asked.key.pem !== caller.agent.key;
  if (newKey) {
    checkCurrentKey(caller);
    await changeKey(asked, caller, context);
  }
  const certificate = await issueClientCertificate(asked, asked.key, authority, {
    now,
    serial: randomBytes(16),
  });
  return { answer: { certificate, authority: authority.certificate }, newKey };
};

/** As an enrolment with another key does: a new life of the agent's chain, and the site's next statement. */
const changeKey = (
  { site, agent, key }: CertificateRequest,
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
    };
    await enrollAgent(tx, request, { accept: [], replaceKey: true, update: false }, now);
    await issueSite(tx, site, context.signer, now);
  });
