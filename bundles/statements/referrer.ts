import type { Descriptor } from '../bundle/manifest.ts';
import { encodeManifest, type Manifest } from '../bundle/manifest.ts';
import { digestOf } from '../digest.ts';
import { FleetError } from '../errors.ts';
import { OCI_EMPTY, OCI_MANIFEST, SIGSTORE_BUNDLE } from '../media-types.ts';
import { parseStrictJson } from '../strict-json.ts';
import { MAX_STATEMENT_BYTES, parseEnvelope } from './envelope.ts';

export const EMPTY_CONFIG = Buffer.from('{}');

export type Referrer = { readonly bytes: Buffer; readonly descriptor: Descriptor };

/**
 * A statement as cosign 3 attaches it (OCI 1.1 referrer): artifact and layer type are the sigstore bundle's, the config is
 * empty, the subject is what was signed. Says nothing about who signed.
 * @throws FleetError those of parseEnvelope, SCHEMA
 */
export const referrerOf = (statement: Buffer, subject: Descriptor, what: string): Referrer => {
  const { payload } = parseEnvelope(statement, what);
  const json = parseStrictJson(payload, { maxBytes: MAX_STATEMENT_BYTES }, what) as {
    predicateType?: unknown;
  } | null;
  const predicateType = json?.predicateType;
  if (typeof predicateType !== 'string') throw new FleetError('SCHEMA', `${what} has no predicateType`);
  const annotations = {
    'dev.sigstore.bundle.content': 'dsse-envelope',
    'dev.sigstore.bundle.predicateType': predicateType,
  };
  const { mediaType, digest, size } = subject;
  const manifest: Manifest = {
    schemaVersion: 2,
    mediaType: OCI_MANIFEST,
    artifactType: SIGSTORE_BUNDLE,
    config: { mediaType: OCI_EMPTY, digest: digestOf(EMPTY_CONFIG), size: EMPTY_CONFIG.byteLength },
    layers: [{ mediaType: SIGSTORE_BUNDLE, digest: digestOf(statement), size: statement.byteLength }],
    subject: { mediaType, digest, size },
    annotations,
  };
  const { bytes, descriptor } = encodeManifest(manifest);
  return { bytes, descriptor: { ...descriptor, annotations } };
};
