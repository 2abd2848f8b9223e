import type { Bundle } from '@sigstore/bundle';
import type { Descriptor } from '../../formats/layout/manifest.ts';
import { parseImageManifest } from '../../formats/layout/manifest.ts';
import { type Digest, isDigest } from '../../digest.ts';
import { FleetError, isFleetError } from '../../errors.ts';
import type { BlobSource } from '../../formats/layout/blobs.ts';
import { readBlob } from '../../formats/layout/verified.ts';
import { DSSE_ENVELOPE, IN_TOTO, SIGSTORE_BUNDLE } from '../../media-types.ts';
import { type Envelope, parseImageEnvelope, preAuthEncoding } from '../../formats/statements/envelope.ts';
import { parseStrictJson } from '../../json/strict-json.ts';
import type { Shape } from '../../json/json-shape.ts';
import { certifiedEnvelope } from './certified-signature.ts';
import { MAX_SIGNATURE_MANIFEST } from './read-signatures.ts';

/** One attestation of cosign, unverified. */
export type ImageAttestation = {
  /** Predicate type: 'https://spdx.dev/Document'. */
  readonly type: string;
  /** Digests that it is about. */
  readonly about: readonly Digest[];
  readonly signed: Buffer;
  readonly signature: Buffer;
  /** Of one by certificate: all of it, with the proof of its time. Absent for one by key. */
  readonly certified?: Bundle | 'unreadable' | undefined;
};

export type FoundAttestations = {
  readonly attestations: readonly ImageAttestation[];
  /** Attachments that look like attestations but are in another format, or broken. */
  readonly unreadable: readonly FleetError[];
};

/** Upper bound on layers of an untrusted manifest. */
const MAX_LAYERS = 64;
/** An SBOM of a large image has some megabytes. */
const MAX_ATTESTATION_BYTES = 32 << 20;

/**
 * The attestations in one manifest: a referrer with a sigstore bundle (cosign 3), or the layers of a `.att` manifest (DSSE
 * envelopes). Empty for any other manifest.
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, TOO_LARGE ...
 */
export const readAttestations = async (
  source: BlobSource,
  digest: Digest,
  signal?: AbortSignal,
): Promise<FoundAttestations> => {
  const bytes = await readBlob(source, digest, MAX_SIGNATURE_MANIFEST, signal);
  const manifest = parseImageManifest(bytes, `the manifest ${digest}`);
  const attestations: ImageAttestation[] = [];
  const unreadable: FleetError[] = [];
  for (const layer of manifest.layers.slice(0, MAX_LAYERS)) {
    if (layer.mediaType !== SIGSTORE_BUNDLE && layer.mediaType !== DSSE_ENVELOPE) continue;
    const content = await readBlob(source, layer.digest, MAX_ATTESTATION_BYTES, signal);
    try {
      attestations.push(readStatement(layer, content));
    } catch (error) {
      if (!isFleetError(error)) throw error;
      unreadable.push(error);
    }
  }
  return { attestations, unreadable };
};

const readStatement = (layer: Descriptor, content: Buffer): ImageAttestation => {
  const what = `the attestation ${layer.digest}`;
  const envelope =
    layer.mediaType === SIGSTORE_BUNDLE
      ? parseImageEnvelope(content, what, MAX_ATTESTATION_BYTES)
      : parsePlainEnvelope(content, layer, what);
  const { payload, payloadType, signature } = envelope;
  const said = parseStrictJson(
    payload,
    { maxBytes: MAX_ATTESTATION_BYTES, maxDepth: 256, shape: HEAD },
    what,
  );
  const { predicateType, subject } = (said ?? {}) as Readonly<Record<string, unknown>>;
  const subjects: readonly unknown[] = Array.isArray(subject) ? subject : [];
  return {
    type: typeof predicateType === 'string' ? predicateType : '',
    about: subjects.flatMap((one) => {
      const named = `sha256:${String((one as { digest?: { sha256?: unknown } } | null)?.digest?.sha256)}`;
      return isDigest(named) ? [named] : [];
    }),
    signed: preAuthEncoding(payloadType, payload),
    signature,
    certified: 'bundle' in envelope ? envelope.bundle : undefined,
  };
};

/** Fields that are read from a statement. The predicate may be a large document and is not built. */
const HEAD: Shape = {
  fields: new Map<string, Shape>([
    ['predicateType', 'whole'],
    ['subject', 'whole'],
  ]),
  others: 'skip',
  items: 'skip',
};

/** The layer of a `.att` manifest: a DSSE envelope as JSON, with a certificate and its proofs in annotations. */
const parsePlainEnvelope = (
  content: Buffer,
  { annotations = {} }: Descriptor,
  what: string,
): Pick<Envelope, 'payload' | 'payloadType' | 'signature'> & {
  readonly bundle: ImageAttestation['certified'];
} => {
  const said = parseStrictJson(content, { maxBytes: MAX_ATTESTATION_BYTES, maxDepth: 8 }, what);
  const { payload, payloadType, signatures } = (said ?? {}) as Readonly<Record<string, unknown>>;
  const [first] = Array.isArray(signatures) ? (signatures as readonly ({ sig?: unknown } | null)[]) : [];
  const sig = first?.sig;
  if (typeof payload !== 'string' || payloadType !== IN_TOTO || typeof sig !== 'string')
    throw new FleetError('BUNDLE_FORMAT', `${what} is not a DSSE envelope of an in-toto statement`);
  return {
    payload: Buffer.from(payload, 'base64'),
    payloadType,
    signature: Buffer.from(sig, 'base64'),
    bundle: certifiedEnvelope(annotations, { payload, payloadType, signatures: [{ sig }] }),
  };
};
