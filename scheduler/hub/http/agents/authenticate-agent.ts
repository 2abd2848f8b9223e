import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import type { FastifyRequest } from 'fastify';
import { FleetError } from '#bundles/errors';
import { checkClientCertificate } from '#bundles/trust/root/check-certificate';
import { agentId } from '../../sites/agent-record.ts';
import type { Context } from '../context.ts';
import type { Caller } from './caller.ts';
import { noteCertificate } from './note-certificate.ts';

/** The client certificate of the TLS handshake, in which the client proved possession of its key. */
export const peerCertificate = ({ raw }: FastifyRequest): X509Certificate | undefined =>
  (raw.socket as Partial<TLSSocket>).getPeerX509Certificate?.();

/**
 * Authenticates an agent by its certificate. Called for every request, so that a revocation takes effect on open connections.
 * @throws FleetError CERTIFICATE_INVALID, WRONG_FLEET, AGENT_UNKNOWN, REVOKED
 */
export const authenticateAgent = async (
  certificate: X509Certificate | undefined,
  { hub, clock }: Pick<Context, 'hub' | 'clock'>,
  { allowExpired = false } = {},
): Promise<Caller> => {
  if (!certificate) {
    throw new FleetError('CERTIFICATE_INVALID', 'this path is for agents: no client certificate was shown', {
      hint: 'Enrol with a token first: fleet-agent enroll',
    });
  }
  const { root } = hub.keys;
  const certified = checkClientCertificate(certificate, {
    fleet: root.fleet,
    authorities: root.agentCertificates,
    now: clock(),
    allowExpired,
  });
  const id = agentId(certified.site, certified.agent);
  const agent = await hub.store.db.selectFrom('agent').selectAll().where('id', '=', id).executeTakeFirst();
  if (!agent) throw new FleetError('AGENT_UNKNOWN', `${id} was never enrolled here`);
  if (agent.revoked_at !== null)
    throw new FleetError('REVOKED', `${id} was revoked on ${agent.revoked_at}`, {
      hint: 'Let the agent create a new key and enrol again',
    });
  const caller = { certified, agent };
  await noteCertificate(certificate, caller, { hub, clock });
  return caller;
};

/** @throws FleetError REVOKED if the certificate is for a key that has been replaced */
export const checkCurrentKey = ({ certified, agent }: Caller): void => {
  if (agent.key === certified.key.pem) return;
  throw new FleetError('REVOKED', `the key of ${agent.id} was replaced on ${agent.enrolled_at}`, {
    hint: 'Two machines may have been enrolled under one name; look at fleet-scheduler sites list',
  });
};
