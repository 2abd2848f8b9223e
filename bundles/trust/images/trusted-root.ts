import { createPublicKey, X509Certificate } from 'node:crypto';
import { TrustedRoot } from '@sigstore/protobuf-specs';
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
    root = TrustedRoot.fromJSON(json);
  } catch {
    throw refused('has a field of another type than a trusted root has');
  }
  for (const { uri, certChain } of [...root.certificateAuthorities, ...root.timestampAuthorities]) {
    const certificates = certChain?.certificates ?? [];
    if (
      certificates.length === 0 ||
      !certificates.every(({ rawBytes }) => isReadable(() => new X509Certificate(rawBytes)))
    )
      throw refused(`has a certChain of ${uri || 'an authority'} that cannot be read`);
  }
  for (const { baseUrl, publicKey, logId, checkpointKeyId } of [...root.tlogs, ...root.ctlogs]) {
    const key = publicKey?.rawBytes;
    const isRead = key && isReadable(() => createPublicKey({ key, format: 'der', type: 'spki' }));
    if (!isRead || !(logId ?? checkpointKeyId))
      throw refused(`has a publicKey or logId of ${baseUrl || 'a log'} that cannot be read`);
  }
  return root;
};

const isReadable = (read: () => unknown): boolean => {
  try {
    read();
    return true;
  } catch {
    return false;
  }
};

const refused = (why: string): FleetError =>
  new FleetError('KEY_FORMAT', `this trusted root of sigstore ${why}`, {
    hint: 'Paste the trusted_root.json of the sigstore instance, or what cosign trusted-root create prints',
  });
