import type { Bundle } from '@sigstore/bundle';
import { type Descriptor, type Manifest, parseImageManifest } from '../../formats/layout/manifest.ts';
import { type Digest, digestOf, isDigest } from '../../digest.ts';
import { type FleetError, isFleetError } from '../../errors.ts';
import type { BlobSource } from '../../formats/layout/blobs.ts';
import { readBlob } from '../../formats/layout/verified.ts';
import { COSIGN_SIGNATURE, IN_TOTO_STATEMENT, SIGSTORE_BUNDLE, SIMPLE_SIGNING } from '../../media-types.ts';
import {
  MAX_STATEMENT_BYTES,
  parseImageEnvelope,
  preAuthEncoding,
} from '../../formats/statements/envelope.ts';
import { parseStrictJson } from '../../json/strict-json.ts';
import { certificateAnnotations, certifiedSignature } from './certified-signature.ts';
import { type Evidence, type EvidenceBlob, createEvidence } from './evidence.ts';

/** One cosign signature, unverified. `about`: the digests that its payload names. */
export type ImageSignature = {
  readonly about: readonly Digest[];
  readonly signed: Buffer;
  readonly signature: Buffer;
  /** Of a signature with a certificate: all of it, with the proof of its time. */
  readonly certified?: Bundle | 'unreadable' | undefined;
  /** Manifest and blobs that must be delivered with the image. */
  readonly evidence: Evidence;
};

export type FoundSignatures = {
  readonly signatures: readonly ImageSignature[];
  /** Attachments that look like signatures but are in another format, or broken. */
  readonly unreadable: readonly FleetError[];
};

/** A statement that is a signature and no attestation, as cosign 3 writes it. */
export const COSIGN_SIGN = 'https://sigstore.dev/cosign/sign/v1';
const SIMPLE_TYPE = 'cosign container image signature';

/** Upper bound on layers of an untrusted manifest. */
const MAX_LAYERS = 64;
export const MAX_SIGNATURE_MANIFEST = 256 << 10;

/**
 * The signatures in one manifest: a referrer with a sigstore bundle (cosign 3), or the layers of a `.sig` manifest (simple
 * signing, read by podman and CRI-O). Empty for any other manifest.
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, TOO_LARGE ...
 */
export const readSignatures = async (
  source: BlobSource,
  digest: Digest,
  signal?: AbortSignal,
): Promise<FoundSignatures> => {
  const bytes = await readBlob(source, digest, MAX_SIGNATURE_MANIFEST, signal);
  const manifest = parseImageManifest(bytes, `the manifest ${digest}`);
  const signatures: ImageSignature[] = [];
  const unreadable: FleetError[] = [];
  for (const layer of manifest.layers.slice(0, MAX_LAYERS)) {
    if (layer.mediaType !== SIGSTORE_BUNDLE && layer.mediaType !== SIMPLE_SIGNING) continue;
    // An attestation may be as large as the SBOM in it; a signature is not.
    if (layer.size > MAX_STATEMENT_BYTES || manifest.config.size > MAX_STATEMENT_BYTES) continue;
    const content = await readBlob(source, layer.digest, MAX_STATEMENT_BYTES, signal);
    try {
      if (layer.mediaType === SIMPLE_SIGNING) signatures.push(...readSimple(layer, content));
      else if (manifest.layers.length === 1) {
        const config = await readBlob(source, manifest.config.digest, MAX_STATEMENT_BYTES, signal);
        signatures.push(...readStatement({ digest, bytes, manifest, config, content }));
      }
    } catch (error) {
      if (!isFleetError(error)) throw error;
      unreadable.push(error);
    }
  }
  return { signatures, unreadable };
};

type Referrer = {
  readonly digest: Digest;
  readonly bytes: Buffer;
  readonly manifest: Manifest;
  readonly config: Buffer;
  readonly content: Buffer;
};

/** Copied unchanged: the referrers API of the site's registry lists this manifest. */
const readStatement = ({ digest, bytes, manifest, config, content }: Referrer): readonly ImageSignature[] => {
  const what = `the signature ${digest}`;
  const envelope = parseImageEnvelope(content, what);
  const { payload, payloadType, signature } = envelope;
  const json = parseStrictJson(payload, { maxBytes: MAX_STATEMENT_BYTES, maxDepth: 32 }, what) as Partial<
    Record<string, unknown>
  > | null;
  if (json?.['_type'] !== IN_TOTO_STATEMENT || json['predicateType'] !== COSIGN_SIGN) return [];
  const subjects: readonly unknown[] = Array.isArray(json['subject']) ? json['subject'] : [];
  const about = subjects.flatMap((subject) => {
    const hex = (subject as { digest?: { sha256?: unknown } } | null)?.digest?.sha256;
    const named = `sha256:${String(hex)}`;
    return isDigest(named) ? [named] : [];
  });
  const [layer] = manifest.layers as readonly [Descriptor];
  const descriptor = { mediaType: manifest.mediaType, digest, size: bytes.byteLength };
  return [
    {
      about,
      signed: preAuthEncoding(payloadType, payload),
      signature,
      certified: 'bundle' in envelope ? envelope.bundle : undefined,
      evidence: {
        manifest: { descriptor, bytes },
        blobs: [
          { descriptor: plain(manifest.config), bytes: config },
          { descriptor: plain(layer), bytes: content },
        ],
      },
    },
  ];
};

/**
 * Each signer adds a layer to the one manifest under the `.sig` tag. A bundle carries a manifest with this layer alone, so that a
 * signature that another signer adds does not change the bundle.
 */
const readSimple = (layer: Descriptor, payload: Buffer): readonly ImageSignature[] => {
  const what = `the signature ${layer.digest}`;
  const json = parseStrictJson(payload, { maxBytes: MAX_STATEMENT_BYTES, maxDepth: 32 }, what) as {
    critical?: { type?: unknown; image?: { 'docker-manifest-digest'?: unknown } };
  } | null;
  const about = json?.critical?.image?.['docker-manifest-digest'];
  const signature = layer.annotations?.[COSIGN_SIGNATURE];
  if (json?.critical?.type !== SIMPLE_TYPE || !isDigest(about) || signature === undefined) return [];
  const kept: EvidenceBlob = {
    descriptor: {
      mediaType: SIMPLE_SIGNING,
      digest: digestOf(payload),
      size: payload.byteLength,
      annotations: { [COSIGN_SIGNATURE]: signature, ...certificateAnnotations(layer.annotations ?? {}) },
    },
    bytes: payload,
  };
  return [
    {
      about: [about],
      signed: payload,
      signature: Buffer.from(signature, 'base64'),
      certified: certifiedSignature(layer.annotations ?? {}, payload, signature),
      evidence: createEvidence(kept),
    },
  ];
};

const plain = ({ mediaType, digest, size }: Descriptor): Descriptor => ({ mediaType, digest, size });
