import { FleetError } from '#bundles/errors';
import {
  CERTIFICATE_PATH,
  type CertificateAnswer,
  type CertificateRenewal,
} from '#bundles/formats/events/hub-api';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { Agent } from '../store/agent.ts';
import type { HubClient } from '../hub/hub-client.ts';
import { keepCertificate, type OwnCertificate } from '../hub/certificate.ts';
import type { Request } from '../model/request.ts';

const MAX_ANSWER_BYTES = 256 << 10;

/**
 * Requests the next certificate for the same key, authenticated by the current certificate. Sends the certificate request of the
 * enrolment, which proves possession of the unchanged key, and the age recipient, which the hub may not have yet.
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
