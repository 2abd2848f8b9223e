import { FleetError } from '../../errors.ts';
import { isName } from '../../names.ts';
import { bitString, type Der, decodeDer, encodeDer, oid, sequence, set, TAG } from './der.ts';
import { type PublicKey, parsePublicKey, type SigningKey, verifySignature } from '../keys/key.ts';
import { encodePem } from '../keys/pem.ts';

/** Subject of a client certificate; each field is a DNS label. */
export type AgentSubject = { readonly fleet: string; readonly site: string; readonly agent: string };

export type CertificateRequest = AgentSubject & { readonly key: PublicKey };

const OID = {
  commonName: oid('2.5.4.3'),
  subjectAltName: oid('2.5.29.17'),
  extensionRequest: oid('1.2.840.113549.1.9.14'),
  ecdsaWithSha256: oid('1.2.840.10045.4.3.2'),
};
/** Context tags: attributes of a request, uniformResourceIdentifier of a GeneralName. */
const ATTRIBUTES = 0xa0;
const URI = 0x86;

const MAX_CHARACTERS = 8192;
/** ub-common-name of RFC 5280, appendix A. */
const MAX_COMMON_NAME = 64;

const PEM =
  /^-----BEGIN CERTIFICATE REQUEST-----\r?\n([A-Za-z0-9+/=\r\n]+)-----END CERTIFICATE REQUEST-----\s*$/;
const AGENT_URI = /^fleet:\/\/([^/]+)\/site\/([^/]+)\/agent\/([^/]+)$/;

/** The identity that certificates carry as their URI subject alternative name. */
export const agentUri = ({ fleet, site, agent }: AgentSubject): string =>
  `fleet://${fleet}/site/${site}/agent/${agent}`;

/** Parses agentUri; undefined for any other URI. */
export const parseAgentUri = (uri: string): AgentSubject | undefined => {
  const [, fleet, site, agent] = AGENT_URI.exec(uri) ?? [];
  return isName(fleet) && isName(site) && isName(agent) ? { fleet, site, agent } : undefined;
};

/** Common name for display; programs read the URI. Omits the site when X.509's limit would be exceeded. */
export const agentCommonName = ({ site, agent }: AgentSubject): string =>
  `${site}/${agent}`.length <= MAX_COMMON_NAME ? `${site}/${agent}` : agent;

/** A PKCS#10 request (RFC 2986) as PEM, signed by the key it asks a certificate for. */
export const createCertificateRequest = async (subject: AgentSubject, key: SigningKey): Promise<string> => {
  const extension = sequence(
    OID.subjectAltName,
    encodeDer(TAG.octetString, sequence(encodeDer(URI, Buffer.from(agentUri(subject), 'ascii')))),
  );
  const info = sequence(
    encodeDer(TAG.integer, Buffer.from([0])),
    sequence(
      set(sequence(OID.commonName, encodeDer(TAG.utf8, Buffer.from(agentCommonName(subject), 'ascii')))),
    ),
    key.public.object.export({ type: 'spki', format: 'der' }),
    encodeDer(ATTRIBUTES, sequence(OID.extensionRequest, set(sequence(extension)))),
  );
  return encodePem(
    'CERTIFICATE REQUEST',
    sequence(info, sequence(OID.ecdsaWithSha256), bitString(await key.sign(info))),
  );
};

/**
 * Parses a request of exactly the shape we write (openssl can write it too) and verifies its proof of possession. Does not
 * decide whether the agent may have the certificate.
 * @throws FleetError REQUEST_INVALID
 */
export const parseCertificateRequest = (pem: string): CertificateRequest => {
  const [info, algorithm, signature] = exactly(3, decodePem(pem), TAG.sequence);
  must(algorithm.raw.equals(sequence(OID.ecdsaWithSha256)), 'is not signed with ECDSA and SHA-256');
  const [version, name, spki, attributes] = exactly(4, info, TAG.sequence);
  must(version.raw.equals(encodeDer(TAG.integer, Buffer.from([0]))), 'is not of version 1');
  const key = parseKey(spki);
  must(verifySignature(key, info.raw, bits(signature)), 'is not signed by the key it is for');
  const subject = parseUri(readUri(attributes));
  must(readCommonName(name) === agentCommonName(subject), 'names different agents in common name and URI');
  return { ...subject, key };
};

/** Throws unless the condition holds. TypeScript requires an explicit type for assertions. */
const must: (condition: boolean, why: string) => asserts condition = (condition, why) => {
  if (!condition) throw invalid(why);
};

const invalid = (why: string, cause?: unknown): FleetError =>
  new FleetError('REQUEST_INVALID', `the certificate request ${why}`, { cause });

const decodePem = (pem: string): Der => {
  must(pem.length <= MAX_CHARACTERS, `is longer than ${MAX_CHARACTERS} characters`);
  const base64 = PEM.exec(pem)?.[1]?.replaceAll(/[\r\n]/g, '');
  must(base64 !== undefined, 'is not one PEM block');
  const bytes = Buffer.from(base64, 'base64');
  must(bytes.toString('base64') === base64, 'is not plain base64');
  try {
    return decodeDer(bytes);
  } catch (cause) {
    throw invalid('is not DER', cause);
  }
};

type Parts = {
  readonly 1: readonly [Der];
  readonly 2: readonly [Der, Der];
  readonly 3: readonly [Der, Der, Der];
  readonly 4: readonly [Der, Der, Der, Der];
};

/** Requires exactly `count` children under `tag`: further parts would request something that we do not grant. */
const exactly = <N extends keyof Parts>(count: N, value: Der, tag: number): Parts[N] => {
  must(value.tag === tag && value.children.length === count, 'has unknown parts');
  return value.children as unknown as Parts[N];
};

const parseKey = (spki: Der): PublicKey => {
  try {
    return parsePublicKey(encodePem('PUBLIC KEY', spki.raw));
  } catch (cause) {
    throw invalid('is not for a P-256 key, plainly written', cause);
  }
};

const bits = ({ tag, content }: Der): Buffer => {
  must(tag === TAG.bitString && content[0] === 0, 'has a signature that is not a whole number of bytes');
  return content.subarray(1);
};

const readUri = (attributes: Der): string => {
  const [attribute] = exactly(1, attributes, ATTRIBUTES);
  const [type, values] = exactly(2, attribute, TAG.sequence);
  must(type.raw.equals(OID.extensionRequest), 'requests attributes other than extensions');
  const [extensions] = exactly(1, values, TAG.set);
  const [extension] = exactly(1, extensions, TAG.sequence);
  const [id, value] = exactly(2, extension, TAG.sequence);
  must(id.raw.equals(OID.subjectAltName) && value.tag === TAG.octetString, 'requests an unknown extension');
  const [uri] = exactly(1, nested(value.content), TAG.sequence);
  must(uri.tag === URI, 'has a name that is not a URI');
  return uri.content.toString('latin1');
};

const nested = (content: Buffer): Der => {
  try {
    return decodeDer(content);
  } catch (cause) {
    throw invalid('has an extension that is not DER', cause);
  }
};

const parseUri = (uri: string): AgentSubject => {
  const subject = parseAgentUri(uri);
  must(subject !== undefined, 'does not name fleet://<fleet>/site/<site>/agent/<agent>');
  return subject;
};

const readCommonName = (name: Der): string => {
  const [rdn] = exactly(1, name, TAG.sequence);
  const [attribute] = exactly(1, rdn, TAG.set);
  const [type, value] = exactly(2, attribute, TAG.sequence);
  must(type.raw.equals(OID.commonName), 'has a subject with more than a common name');
  must(value.tag === TAG.utf8 || value.tag === TAG.printable, 'has a common name of an unknown type');
  return value.content.toString('latin1');
};
