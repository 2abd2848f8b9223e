import { createPublicKey, type KeyObject, X509Certificate } from 'node:crypto';
import {
  PublicKeyDetails,
  type TimeRange,
  type TransparencyLogInstance,
  TrustedRoot,
} from '@sigstore/protobuf-specs';
import { FleetError, toFleetError } from '../../errors.ts';
import { isRecord } from '../../is-record.ts';
import { canonicalJson, type Json } from '../../json/canonical.ts';
import { parseStrictJson } from '../../json/strict-json.ts';

/** That of sigstore's public instance has 7 kB. */
export const MAX_TRUSTED_ROOT = 64 << 10;
const MEDIA_TYPE = /^application\/vnd\.dev\.sigstore\.trustedroot(?:\+json;version=0\.1|\.v0\.\d\+json)$/;

/**
 * Reads the trusted root of sigstore: the authorities that issue certificates and timestamps, and the logs.
 * @param text of trusted_root.json
 * @returns the same as canonical JSON
 * @throws FleetError KEY_FORMAT with what is wrong in it
 */
export const parseTrustedRoot = (text: string): string => {
  const json = readJson(text);
  if (!isRecord(json) || !MEDIA_TYPE.test(String(json['mediaType'])))
    throw refused('has no mediaType of a trusted root');
  checkFields(json);
  const root = readParts(json);
  if (root.certificateAuthorities.length === 0) throw refused('has no certificateAuthorities');
  if (root.timestampAuthorities.length === 0 && root.tlogs.length === 0)
    throw refused(
      'has neither timestampAuthorities nor tlogs, so nothing can prove when a signature was made',
    );
  return canonicalJson(json as Json);
};

const readJson = (text: string): unknown => {
  try {
    return parseStrictJson(Buffer.from(text), { maxBytes: MAX_TRUSTED_ROOT, maxDepth: 16 }, 'it');
  } catch (error) {
    throw refused(`is not JSON: ${toFleetError(error).message}`);
  }
};

const PARTS = ['certificateAuthorities', 'timestampAuthorities', 'tlogs', 'ctlogs'] as const;

/** A part that is misspelled would be absent, and what it demands of signatures with it. */
const checkFields = (json: Readonly<Record<string, unknown>>): void => {
  const unknown = Object.keys(json).find((key) => ![...PARTS, 'mediaType'].includes(key));
  if (unknown !== undefined)
    throw refused(`has the field ${JSON.stringify(unknown.slice(0, 80))}, which this version does not know`);
  const wrong = PARTS.find((part) => json[part] !== undefined && !Array.isArray(json[part]));
  if (wrong !== undefined) throw refused(`has no list of ${wrong}`);
};

/** Reads every certificate and key once, so that no policy fails later because of one. */
const readParts = (json: object): TrustedRoot => {
  let root: TrustedRoot;
  try {
    root = readTrustedRoot(json);
  } catch {
    throw refused('has a field of another type than a trusted root has');
  }
  for (const { uri, certChain, validFor } of [...root.certificateAuthorities, ...root.timestampAuthorities]) {
    const certificates = certChain?.certificates ?? [];
    const of = uri || 'an authority';
    if (
      certificates.length === 0 ||
      !certificates.every(({ rawBytes }) => read(() => new X509Certificate(rawBytes)))
    )
      throw refused(`has a certChain of ${of} that cannot be read`);
    checkTime(validFor, of);
  }
  for (const { baseUrl, publicKey, logId, checkpointKeyId } of [...root.tlogs, ...root.ctlogs]) {
    const of = baseUrl || 'a log';
    if (!publicKey?.rawBytes || !keyOf(publicKey.rawBytes) || !(logId ?? checkpointKeyId))
      throw refused(`has a publicKey or logId of ${of} that cannot be read`);
    checkTime(publicKey.validFor, of);
  }
  return root;
};

/** Without `validFor.start` a key would be trusted for all past time (TimeRange of sigstore's protobuf specs: `start` is required). */
const checkTime = (validFor: TimeRange | undefined, of: string): void => {
  const { start, end } = validFor ?? {};
  if (!start || Number.isNaN(start.getTime())) throw refused(`has no validFor.start of ${of}`);
  if (end && Number.isNaN(end.getTime())) throw refused(`has a validFor.end of ${of} that cannot be read`);
};

/**
 * A trusted root in the form that @sigstore/verify reads. It reads the key of an RSA log only as PKCS #1, as in the root of sigstore's staging
 * instance; `cosign trusted-root create` writes SubjectPublicKeyInfo, which is converted.
 */
export const readTrustedRoot = (json: unknown): TrustedRoot => {
  const root = TrustedRoot.fromJSON(json);
  return { ...root, tlogs: root.tlogs.map(withReadKey), ctlogs: root.ctlogs.map(withReadKey) };
};

const withReadKey = (log: TransparencyLogInstance): TransparencyLogInstance => {
  const { publicKey } = log;
  const key = publicKey?.rawBytes && keyOf(publicKey.rawBytes);
  if (key?.asymmetricKeyType !== 'rsa') return log;
  // Node 24 cannot export a key that was read as PKCS #1 as PKCS #1 again ("Failed to encode public key"), so it is read as SPKI first.
  const rawBytes = createPublicKey(key.export({ type: 'spki', format: 'pem' })).export({
    type: 'pkcs1',
    format: 'der',
  });
  return { ...log, publicKey: { ...publicKey, rawBytes, keyDetails: PublicKeyDetails.PKCS1_RSA_PKCS1V5 } };
};

const keyOf = (key: Buffer): KeyObject | undefined =>
  read(() => createPublicKey({ key, format: 'der', type: 'spki' })) ??
  read(() => createPublicKey({ key, format: 'der', type: 'pkcs1' }));

const read = <T>(reader: () => T): T | undefined => {
  try {
    return reader();
  } catch {
    return undefined;
  }
};

const refused = (why: string): FleetError =>
  new FleetError('KEY_FORMAT', `this trusted root of sigstore ${why}`, {
    hint: 'Paste the trusted_root.json of the sigstore instance, or what cosign trusted-root create prints',
  });
