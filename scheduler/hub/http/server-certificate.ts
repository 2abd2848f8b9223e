import { createPrivateKey, randomBytes, X509Certificate } from 'node:crypto';
import { FleetError } from '#bundles/errors';
import { readGivenFile } from '#bundles/read-given-file';
import type { Authority } from '#bundles/trust/root/certificate';
import { issueServerCertificate } from '#bundles/trust/root/issue-certificate';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';

/** The hub's TLS certificate chain and key, in PEM, and its validity. */
export type ServerCertificate = {
  readonly certificate: string;
  readonly key: string;
  /** The first of the chain. */
  readonly leaf: X509Certificate;
  readonly from: Date;
  readonly to: Date;
};

/** Where the certificate comes from: issued by the fleet's authority, or files that are renewed elsewhere. */
export type CertificateSource =
  | { readonly kind: 'issued'; readonly authority: Authority; readonly hostnames: readonly string[] }
  | { readonly kind: 'files'; readonly certificateFile: string; readonly keyFile: string };

/**
 * Issues a certificate for a new key, which is kept only in memory, or reads both from files.
 * @throws FleetError CONFIG_INVALID, CERTIFICATE_INVALID, PERMISSION, IO
 */
export const obtainCertificate = async (source: CertificateSource, now: Date): Promise<ServerCertificate> => {
  switch (source.kind) {
    case 'issued': {
      const key = generatePrivateKey();
      const { authority, hostnames } = source;
      const serial = randomBytes(16);
      const issued = await issueServerCertificate(hostnames, loadSigningKey(key).public, authority, {
        now,
        serial,
      });
      return readCertificate(`${issued}${authority.certificate}`, key);
    }
    case 'files': {
      const [certificate, key] = await Promise.all([
        readGivenFile(source.certificateFile),
        readGivenFile(source.keyFile),
      ]);
      return checkPair(certificate, key, source, now);
    }
  }
};

/**
 * Whether two thirds of the certificate's life are over, as agents judge theirs, or it was issued by a clock that has been set back since. Only
 * for issued certificates.
 */
export const isDue = ({ from, to }: ServerCertificate, now: Date): boolean =>
  now < from || now.getTime() - from.getTime() >= ((to.getTime() - from.getTime()) * 2) / 3;

const readCertificate = (certificate: string, key: string): ServerCertificate => {
  const leaf = new X509Certificate(certificate);
  const { validFromDate, validToDate } = leaf;
  return { certificate, key, leaf, from: validFromDate, to: validToDate };
};

/** Reports a bad pair at start and by file name; otherwise TLS would fail on every connection. */
const checkPair = (
  certificate: string,
  key: string,
  { certificateFile, keyFile }: CertificateSource & { kind: 'files' },
  now: Date,
): ServerCertificate => {
  const described = named(certificateFile, 'no PEM certificate', () => readCertificate(certificate, key));
  const at = { file: certificateFile };
  if (described.to <= now)
    throw new FleetError(
      'CERTIFICATE_INVALID',
      `the hub's certificate ended on ${described.to.toISOString()}`,
      { at },
    );
  const fits = named(keyFile, 'no private key in PEM', () =>
    new X509Certificate(certificate).checkPrivateKey(createPrivateKey(key)),
  );
  if (fits) return described;
  throw new FleetError('CERTIFICATE_INVALID', `it does not belong to the key ${keyFile}`, { at });
};

const named = <T>(file: string, what: string, work: () => T): T => {
  try {
    return work();
  } catch (cause) {
    throw new FleetError('CONFIG_INVALID', `this is ${what}`, { at: { file }, cause });
  }
};
