import { isIP, isIPv4 } from 'node:net';
import { FleetError } from '../../errors.ts';
import { addDays } from '../../time.ts';
import {
  type AlternativeName,
  type Authority,
  alternativeNames,
  authorityKey,
  basicConstraints,
  extendedKeyUsage,
  keyIdentifier,
  keyUsage,
  nameOf,
  parseCertificate,
  readIssuer,
  signCertificate,
  subjectKey,
  type Validity,
} from './certificate.ts';
import { type AgentSubject, agentCommonName, agentUri } from './certificate-request.ts';
import type { PublicKey, SigningKey } from '../keys/key.ts';

/** Ten years, so that a missed renewal does not disconnect a fleet from its hub. */
const AUTHORITY_DAYS = 3650;
/** Short lives make revocation lists unnecessary; renewed at two thirds. */
const CERTIFICATE_DAYS = 90;
const HOUR_MS = 3_600_000;

/** Time and serial number of one certificate. */
export type Issuance = { readonly now: Date /** 16 random bytes. */; readonly serial: Uint8Array };

/** Begins an hour early: clocks of machines without a battery are often behind. */
const validityOf = (now: Date, days: number): Validity => ({
  from: new Date(now.getTime() - HOUR_MS),
  to: addDays(now, days),
});

/**
 * Creates the certificate of a fleet's authority, signed by its own key.
 * @returns PEM
 */
export const createAuthority = (
  fleet: string,
  key: SigningKey,
  { now, serial }: Issuance,
): Promise<string> => {
  const name = nameOf(`${fleet} agents`);
  const identifier = keyIdentifier(key.public);
  return signCertificate(
    {
      serial,
      issuer: name,
      subject: name,
      validity: validityOf(now, AUTHORITY_DAYS),
      key: key.public,
      extensions: [
        basicConstraints(true),
        keyUsage('certify'),
        subjectKey(identifier),
        authorityKey(identifier),
      ],
    },
    key,
  );
};

/** The certificate that an agent shows to the hub. @returns PEM @throws FleetError CERTIFICATE_INVALID */
export const issueClientCertificate = (
  subject: AgentSubject,
  key: PublicKey,
  authority: Authority,
  issuance: Issuance,
): Promise<string> =>
  issue('client', agentCommonName(subject), key, authority, issuance, [
    { kind: 'uri', bytes: Buffer.from(agentUri(subject), 'ascii') },
  ]);

/**
 * The certificate that the hub shows. @param hostnames DNS names and addresses, at least one
 * @returns PEM @throws FleetError CERTIFICATE_INVALID, USAGE
 */
export const issueServerCertificate = (
  hostnames: readonly string[],
  key: PublicKey,
  authority: Authority,
  issuance: Issuance,
): Promise<string> =>
  issue('server', 'fleet hub', key, authority, issuance, hostnames.map(toAlternativeName));

const issue = async (
  purpose: 'client' | 'server',
  commonName: string,
  key: PublicKey,
  authority: Authority,
  { now, serial }: Issuance,
  names: readonly AlternativeName[],
): Promise<string> => {
  const issuer = parseCertificate(authority.certificate, "the authority's certificate");
  const { name, identifier } = readIssuer(issuer);
  const wanted = validityOf(now, CERTIFICATE_DAYS);
  // Ends with its issuer at the latest: verifiers would reject it from then on with an unclear error.
  const to = new Date(Math.min(wanted.to.getTime(), issuer.validToDate.getTime()));
  if (to <= now) throw new FleetError('CERTIFICATE_INVALID', `the authority ended on ${issuer.validTo}`);
  return signCertificate(
    {
      serial,
      issuer: name,
      subject: nameOf(commonName),
      validity: { from: wanted.from, to },
      key,
      extensions: [
        basicConstraints(false),
        keyUsage('sign'),
        extendedKeyUsage(purpose),
        subjectKey(keyIdentifier(key)),
        authorityKey(identifier),
        alternativeNames(names),
      ],
    },
    authority.key,
  );
};

const HOSTNAME =
  /^(?=.{1,253}$)(?:\*\.)?[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?)*$/i;

const toAlternativeName = (hostname: string): AlternativeName => {
  if (isIP(hostname) > 0) return { kind: 'ip', bytes: addressBytes(hostname) };
  if (HOSTNAME.test(hostname)) return { kind: 'dns', bytes: Buffer.from(hostname.toLowerCase(), 'ascii') };
  throw new FleetError(
    'USAGE',
    `${JSON.stringify(hostname.slice(0, 80))} is neither a host name nor an address`,
  );
};

/** RFC 4291 section 2.2, in network order. */
const addressBytes = (address: string): Buffer => {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number));
  // URL writes every form of an IPv6 address the same way: no dotted end, at most one '::'.
  const text = new URL(`http://[${address.replace(/%.*$/, '')}]`).hostname.slice(1, -1);
  const [head = '', tail] = text.split('::');
  const groups = (part: string): readonly number[] =>
    part === '' ? [] : part.split(':').map((group) => Number.parseInt(group, 16));
  const [first, last] = [groups(head), groups(tail ?? '')];
  const all = [...first, ...Array.from({ length: 8 - first.length - last.length }, () => 0), ...last];
  return Buffer.from(all.flatMap((group) => [group >>> 8, group & 0xff]));
};
