import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
import { unlessMissing } from '#bundles/unless-missing';
import type { CertificateAnswer } from '#bundles/formats/events/hub-api';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { checkClientCertificate } from '#bundles/trust/root/check-certificate';
import type { TrustRoot } from '#bundles/trust/root/root';
import type { Identity } from '../store/identity.ts';

/** Path of the client certificate for the hub, PEM. */
export const certificateFile = (directory: string): string => join(directory, 'agent.crt');

export type OwnCertificate = { readonly pem: string; readonly from: Date; readonly to: Date };

/** @returns undefined for an agent that was enrolled by medium @throws FleetError CERTIFICATE_INVALID, PERMISSION */
export const findCertificate = async (directory: string): Promise<OwnCertificate | undefined> => {
  const file = certificateFile(directory);
  const pem = await unlessMissing(readFile(file, 'utf8'), `reading ${file}`);
  if (pem === undefined) return undefined;
  const { validFromDate, validToDate } = parse(pem, file);
  return { pem, from: validFromDate, to: validToDate };
};

/**
 * Stores a certificate from a hub, if it is for this agent and issued by the authority of its fleet.
 * @throws FleetError CERTIFICATE_INVALID, WRONG_FLEET, DISK_FULL
 */
export const keepCertificate = async (
  directory: string,
  { fleet, site, agent, key }: Pick<Identity, 'fleet' | 'site' | 'agent' | 'key'>,
  { certificate: pem }: CertificateAnswer,
  root: TrustRoot,
  now: Date,
): Promise<OwnCertificate> => {
  const certificate = parse(pem, 'what the hub gave');
  const authorities = root.agentCertificates;
  const said = checkClientCertificate(certificate, { fleet, authorities, now });
  if (said.site !== site || said.agent !== agent || said.key.pem.trim() !== key.trim()) {
    throw new FleetError(
      'CERTIFICATE_INVALID',
      `the hub gave a certificate for ${said.site}/${said.agent}, and this agent is ${site}/${agent}`,
      { hint: 'Nothing was stored. Check the token, and ask the platform team for a new one' },
    );
  }
  try {
    await writeFileAtomically(certificateFile(directory), Buffer.from(certificate.toString()), 0o600);
  } catch (error) {
    throw toFleetError(error, `writing ${certificateFile(directory)}`);
  }
  return { pem, from: certificate.validFromDate, to: certificate.validToDate };
};

/** True after two thirds of the validity, which leaves one month of three for the renewal. */
export const isDueForRenewal = ({ from, to }: Pick<OwnCertificate, 'from' | 'to'>, now: Date): boolean =>
  now.getTime() >= from.getTime() + ((to.getTime() - from.getTime()) * 2) / 3;

const parse = (pem: string, what: string): X509Certificate => {
  try {
    return new X509Certificate(pem);
  } catch (cause) {
    throw new FleetError('CERTIFICATE_INVALID', `${what} is not a certificate`, {
      cause,
      hint: 'Enrol again with a new token',
    });
  }
};
