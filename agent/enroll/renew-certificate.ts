import { FleetError } from '#bundles/errors';
import { CERTIFICATE_PATH, type CertificateAnswer, type CertificateRenewal } from '#bundles/hub/hub-api';
import type { TrustRoot } from '#bundles/trust/root';
import type { Agent } from '../agent.ts';
import type { HubClient } from '../hub/hub-client.ts';
import { keepCertificate, type OwnCertificate } from './certificate.ts';
import type { Request } from './request.ts';

const MAX_ANSWER_BYTES = 256 << 10;

/**
 * The next certificate for the same key, over the connection that the old one opened. The request is the one of the
 * enrolment: it proves possession of the key, which has not changed. What secrets are to be sealed to goes with it, for a
 * hub that enrolled this agent before it had an age identity.
 * @throws FleetError HUB_*, CERTIFICATE_INVALID, DISK_FULL
 */
export const renewCertificate = async (
  { state, identity, edge, signal }: Agent,
  hub: HubClient,
  root: TrustRoot,
): Promise<OwnCertificate> => {
  const { request, recipient, recipientSignature, at } = JSON.parse(identity.request) as Request;
  const body: CertificateRenewal = {
    request,
    ...(recipient !== undefined && recipientSignature !== undefined && { recipient, recipientSignature, at }),
  };
  const answer = (await hub.post(
    CERTIFICATE_PATH,
    body,
    MAX_ANSWER_BYTES,
    signal,
  )) as Partial<CertificateAnswer> | null;
  const { certificate, authority = '' } = answer ?? {};
  if (typeof certificate !== 'string')
    throw new FleetError('HUB_REFUSED', `${hub.url} answers without a certificate`);
  return keepCertificate(state.directory, identity, { certificate, authority }, root, edge.now());
};
