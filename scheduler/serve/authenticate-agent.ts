import type { X509Certificate } from 'node:crypto';
import type { TLSSocket } from 'node:tls';
import type { FastifyRequest } from 'fastify';
import { FleetError } from '#bundles/errors';
import { type CertifiedAgent, checkClientCertificate } from '#bundles/trust/check-certificate';
import { agentId } from '../hub/sites/agent-record.ts';
import type { AgentRow } from '../hub/store/tables.ts';
import type { Context } from './context.ts';

/** Who stands at the other end, with the record as it is now. */
export type Caller = { readonly certified: CertifiedAgent; readonly agent: AgentRow };

/** The certificate of the handshake; TLS has seen that the caller has its key. */
export const peerCertificate = ({ raw }: FastifyRequest): X509Certificate | undefined =>
  (raw.socket as Partial<TLSSocket>).getPeerX509Certificate?.();

/**
 * Asked for every request, so that a revocation counts at once, on open connections too.
 * @throws FleetError CERTIFICATE_INVALID, WRONG_FLEET, AGENT_UNKNOWN, REVOKED
 */
export const authenticateAgent = async (
  certificate: X509Certificate | undefined,
  { hub, clock }: Context,
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
      hint: 'Let it make a new key and enrol again',
    });
  return { certified, agent };
};

/** @throws FleetError REVOKED for a certificate of a key that was replaced since */
export const checkCurrentKey = ({ certified, agent }: Caller): void => {
  if (agent.key === certified.key.pem) return;
  throw new FleetError('REVOKED', `the key of ${agent.id} was replaced on ${agent.enrolled_at}`, {
    hint: 'Two machines may have been enrolled under one name; look at fleet-scheduler sites list',
  });
};
