import type { X509Certificate } from 'node:crypto';
import { FleetError, isFleetError } from '../../errors.ts';
import { PURPOSE, parseCertificate } from './certificate.ts';
import { type AgentSubject, parseAgentUri } from './certificate-request.ts';
import { type PublicKey, parsePublicKey } from '../keys/key.ts';

/** The agent of a valid client certificate. Revocation is checked by the caller. */
export type CertifiedAgent = AgentSubject & {
  readonly key: PublicKey;
  /** Hex. */
  readonly serial: string;
  readonly expires: Date;
};

export type CertificateCheck = {
  readonly fleet: string;
  /** PEM: agentCertificates of the trust root. */
  readonly authorities: readonly string[];
  readonly now: Date;
  /** For renewals: a site that was disconnected for longer than the lifetime of a certificate can still renew it. */
  readonly allowExpired?: boolean;
};

const URI_PREFIX = 'URI:';

/**
 * Checks that a certificate belongs to an agent of this fleet. The TLS handshake has proven possession of its key.
 * @throws FleetError CERTIFICATE_INVALID, WRONG_FLEET
 */
export const checkClientCertificate = (
  certificate: X509Certificate,
  { fleet, authorities, now, allowExpired = false }: CertificateCheck,
): CertifiedAgent => {
  if (!authorities.some((pem) => isIssuedBy(certificate, pem, now)))
    throw invalid("the client certificate was not issued by this fleet's authority");
  if (certificate.ca || !certificate.keyUsage?.includes(PURPOSE.client))
    throw invalid('the certificate is not for clients');
  if (certificate.validFromDate > now)
    throw invalid(`the client certificate is valid from ${certificate.validFrom} on`);
  if (certificate.validToDate <= now && !allowExpired)
    throw invalid(`the client certificate ended on ${certificate.validTo}`);
  const uri = certificate.subjectAltName ?? '';
  const subject = uri.startsWith(URI_PREFIX) ? parseAgentUri(uri.slice(URI_PREFIX.length)) : undefined;
  if (!subject) throw invalid('the client certificate does not name an agent');
  if (subject.fleet !== fleet) {
    throw new FleetError(
      'WRONG_FLEET',
      `the client certificate is of fleet ${subject.fleet}, this is ${fleet}`,
    );
  }
  return {
    ...subject,
    key: readKey(certificate),
    serial: certificate.serialNumber.toLowerCase(),
    expires: certificate.validToDate,
  };
};

/** Authorities in the root may issue for other kinds of keys; keys of agents are P-256. */
const readKey = ({ publicKey }: X509Certificate): PublicKey => {
  try {
    return parsePublicKey(publicKey.export({ type: 'spki', format: 'pem' }).toString());
  } catch (error) {
    if (isFleetError(error)) throw invalid('the client certificate is not for a P-256 key');
    throw error;
  }
};

/** An expired authority is not accepted: the certificates that it issued have expired as well. */
const isIssuedBy = (certificate: X509Certificate, pem: string, now: Date): boolean => {
  const authority = parseCertificate(pem, "the fleet's authority");
  return (
    authority.ca &&
    authority.validToDate > now &&
    certificate.checkIssued(authority) &&
    certificate.verify(authority.publicKey)
  );
};

const invalid = (message: string): FleetError =>
  new FleetError('CERTIFICATE_INVALID', message, {
    hint: 'Check the clocks; if the agent was revoked or lost its key, enrol it again',
  });
