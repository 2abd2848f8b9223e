import { readFile } from 'node:fs/promises';
import { FleetError } from '#bundles/errors';
import { unlessMissing } from '#bundles/unless-missing';
import { namingFile } from '#bundles/trust/keys/naming-file';
import { parseCertificate, readIssuer } from '#bundles/trust/root/certificate';
import { parsePublicKey } from '#bundles/trust/keys/key';

/**
 * Reads and checks the certificate of an agents' authority, made by `root ca` or elsewhere. It must be able to issue
 * certificates for agents and the hub.
 * @returns the certificate alone, in PEM
 * @throws FleetError CERTIFICATE_INVALID, KEY_MISSING, naming the file
 */
export const readAuthority = async (file: string, now: Date): Promise<string> => {
  const text = await unlessMissing(readFile(file, 'utf8'), `reading ${file}`);
  if (text === undefined)
    throw new FleetError('KEY_MISSING', `there is no certificate at ${file}`, {
      hint: 'Create one with: fleet-scheduler root ca',
    });
  return namingFile(file, () => check(text, now));
};

const check = (text: string, now: Date): string => {
  const certificate = parseCertificate(text, 'this file');
  if (!certificate.ca) throw invalid('this is not the certificate of an authority');
  if (certificate.validToDate <= now) throw invalid(`this certificate ended on ${certificate.validTo}`);
  if (!certificate.verify(certificate.publicKey))
    throw invalid('this certificate is not signed by its own key');
  // Issuing needs both: report an unusable certificate now and not when the hub starts.
  parsePublicKey(certificate.publicKey.export({ type: 'spki', format: 'pem' }).toString());
  readIssuer(certificate);
  return certificate.toString();
};

const invalid = (message: string): FleetError =>
  new FleetError('CERTIFICATE_INVALID', message, {
    hint: 'Create one with: fleet-scheduler root ca; an authority of your own must be a P-256 root certificate',
  });
