import { FleetError } from '#bundles/errors';
import type { Authority } from '#bundles/trust/root/certificate';
import { parseAgentUri } from '#bundles/trust/root/certificate-request';
import { type Der, decodeDer, oid, TAG } from '#bundles/trust/root/der';
import { issueClientCertificate, issueServerCertificate } from '#bundles/trust/root/issue-certificate';
import { type PublicKey, parsePublicKey, type SigningKey } from '#bundles/trust/keys/key';
import { encodePem } from '#bundles/trust/keys/pem';
import { checkNear } from '../check-time.ts';
import type { Judging, Permit } from './judging.ts';

/** Fields that differ between certificates of this fleet's authority. */
type Parts = {
  readonly serial: Buffer;
  readonly from: Date;
  readonly key: PublicKey;
  readonly names: readonly Der[];
};

/**
 * Judges the to-be-signed part of a certificate for an agent of this fleet or for a hub. Its variable parts are read, the
 * certificate is encoded again as this program issues it, and it is signed only if the bytes are equal. This excludes
 * authorities, other purposes and longer lifetimes. @throws FleetError CERTIFICATE_INVALID, WRONG_FLEET, SIGNER_REFUSED
 */
export const judgeCertificate = async (
  bytes: Buffer,
  { root, now }: Judging,
  authority: Authority,
): Promise<Permit> => {
  const parts = readParts(bytes);
  const issued = new Date(parts.from.getTime() + HOUR_MS);
  const { what, again } = await writeAgain(parts, issued, authority, root.fleet);
  if (!again.equals(bytes))
    throw refuse(`the certificate for ${what} has not the form that this fleet issues`);
  checkNear(issued, now, `the certificate for ${what}`);
  return { what: `certificate for ${what}`, limited: 'certificate' };
};

/** Certificates are valid from one hour before their issue. */
const HOUR_MS = 3_600_000;
const ALTERNATIVE_NAME = oid('2.5.29.17');
/** Context tags of GeneralName. */
const DNS = 0x82;
const URI = 0x86;
const IP = 0x87;

const writeAgain = async (
  { serial, key, names }: Parts,
  now: Date,
  authority: Authority,
  fleet: string,
): Promise<{ readonly what: string; readonly again: Buffer }> => {
  let again = Buffer.alloc(0);
  const notes: SigningKey = {
    public: authority.key.public,
    sign: async (signed) => {
      again = Buffer.from(signed);
      return Buffer.alloc(0);
    },
  };
  const issuer = { certificate: authority.certificate, key: notes };
  const [first] = names;
  if (first?.tag === URI) {
    const subject = parseAgentUri(first.content.toString('latin1'));
    if (!subject) throw refuse('the certificate does not name an agent');
    const what = `${subject.site}/${subject.agent}`;
    if (subject.fleet !== fleet)
      throw new FleetError(
        'WRONG_FLEET',
        `the certificate for ${what} is of fleet ${subject.fleet}, not ${fleet}`,
      );
    await issueClientCertificate(subject, key, issuer, { now, serial });
    return { what, again };
  }
  const hostnames = names.map(readHostname);
  await issueServerCertificate(hostnames, key, issuer, { now, serial });
  return { what: `the hub at ${hostnames.join(', ').slice(0, 200)}`, again };
};

const readParts = (bytes: Buffer): Parts => {
  try {
    const [, serial, , , validity, , spki, extensions] = decodeDer(bytes).children;
    const from = validity?.children[0];
    const named = extensions?.children[0]?.children.find(({ children }) =>
      children[0]?.raw.equals(ALTERNATIVE_NAME),
    );
    const names = named?.children.at(-1);
    if (!serial || !from || !spki || !names) throw new RangeError('it has not all parts');
    return {
      serial: serial.content,
      from: readTime(from),
      key: parsePublicKey(encodePem('PUBLIC KEY', spki.raw)),
      names: decodeDer(names.content).children,
    };
  } catch (cause) {
    throw refuse('the payload to sign is not a certificate of this fleet', cause);
  }
};

/** RFC 5280 section 4.1.2.5.1: years up to 2049 have two digits. Later years are not supported. */
const readTime = ({ tag, content }: Der): Date => {
  const text = content.toString('latin1');
  const [, ...digits] = /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/.exec(text) ?? [];
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = digits.map(Number);
  const date = new Date(Date.UTC(2000 + year, month - 1, day, hour, minute, second));
  if (tag !== TAG.utcTime || digits.length === 0) throw new RangeError('its times are not UTC');
  return date;
};

const readHostname = ({ tag, content }: Der): string => {
  if (tag === DNS) return content.toString('latin1');
  if (tag !== IP) throw refuse('the certificate has a name that is neither host nor address');
  if (content.length === 4) return [...content].join('.');
  const groups = Array.from({ length: content.length / 2 }, (_, at) =>
    content.readUInt16BE(at * 2).toString(16),
  );
  return groups.join(':');
};

const refuse = (message: string, cause?: unknown): FleetError =>
  new FleetError('SIGNER_REFUSED', message, {
    cause,
    hint: 'Only certificates of agents and of the hub are signed here',
  });
