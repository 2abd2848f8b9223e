import { EMPTY_DESCRIPTOR } from '../layout/artifact.ts';
import { type Descriptor, encodeManifest, type Manifest } from '../layout/manifest.ts';
import { digestOf } from '../../digest.ts';
import { FleetError } from '../../errors.ts';
import { OCI_MANIFEST, SIGSTORE_BUNDLE } from '../../media-types.ts';
import { parseStrictJson } from '../../json/strict-json.ts';
import { MAX_STATEMENT_BYTES, parseEnvelope } from './envelope.ts';

export type Referrer = { readonly bytes: Buffer; readonly descriptor: Descriptor };

/**
 * Encodes a statement as cosign 3 attaches it (OCI 1.1 referrer): artifact and layer type are those of a sigstore bundle, the
 * config is empty, the subject is the signed manifest. Does not verify the signature.
 * @throws FleetError TOO_LARGE, BAD_JSON, TOO_DEEP, BUNDLE_FORMAT, PAYLOAD_TYPE, SCHEMA
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
    config: EMPTY_DESCRIPTOR,
    layers: [{ mediaType: SIGSTORE_BUNDLE, digest: digestOf(statement), size: statement.byteLength }],
    subject: { mediaType, digest, size },
    annotations,
  };
  const { bytes, descriptor } = encodeManifest(manifest);
  return { bytes, descriptor: { ...descriptor, annotations } };
};
