import { defined } from '../../defined.ts';
import {
  type AcceptedBundle,
  type AcceptedRelease,
  acceptRelease,
} from '../../trust/accept/accept-release.ts';
import { reachesEveryone } from '../../trust/accept/is-selected.ts';
import { readChannelDocuments } from '../../trust/accept/documents.ts';
import { DEFAULT_MAX_VALIDITY_DAYS } from '../../trust/accept/trust-state.ts';
import { closureBlobs } from '../../formats/bundle/closure-blobs.ts';
import {
  childrenOf,
  type Descriptor,
  isIndexType,
  isManifestType,
  MAX_MANIFEST_BYTES,
  parseManifest,
} from '../../formats/layout/manifest.ts';
import { ownBlobs, readBundle } from '../../formats/bundle/read-bundle.ts';
import { isDigest } from '../../digest.ts';
import type { BlobSource } from '../../formats/layout/blobs.ts';
import type { Document } from '../../formats/layout/document.ts';
import { readBlob } from '../../formats/layout/verified.ts';
import { SIGSTORE_BUNDLE } from '../../media-types.ts';
import { parseChannel } from '../../names.ts';
import { bundleTag, imageTag, statementTag } from '../registry/references.ts';
import { MAX_STATEMENT_BYTES } from '../../formats/statements/envelope.ts';
import { referrerOf } from '../../formats/statements/referrer.ts';
import { EMPTY_DESCRIPTOR } from '../../formats/layout/artifact.ts';
import type { TrustRoot } from '../../trust/root/root.ts';
import type { ManifestUpload, UploadBatch } from './upload-batch.ts';

export type Evidence = {
  readonly blobs: BlobSource;
  readonly documents: readonly Document[];
  readonly root: TrustRoot;
  readonly now: Date;
};

/**
 * Plans the upload of a release: images, bundles, and the statements of the bundles as cosign attaches them.
 * @throws FleetError as acceptRelease, readBundle and closureBlobs
 */
export const planBundles = async (
  evidence: Evidence,
  repository: string,
  signal?: AbortSignal,
): Promise<Pick<UploadBatch, 'stages' | 'companions'>> => {
  const stages: (readonly ManifestUpload[])[] = [];
  const companions: UploadBatch['companions'][number][] = [];
  const { bundles, predicate } = await judge(evidence, repository);
  for (const { kind, digest } of bundles) {
    const bundle = await planBundle(evidence, digest, signal);
    stages.push(...bundle.stages);
    // Stock Flux and Argo CD read no release; they follow this tag (docs/bundle-format.md section 13). It selects no cluster, so it
    // stays where it is until the rollout reaches all.
    if (kind === 'kubernetes' && reachesEveryone(predicate.rollout))
      companions.push({ tag: 'bundle', descriptor: bundle.upload.descriptor, bytes: bundle.upload.bytes });
  }
  return { stages, companions };
};

/** Accepts the release as a new agent without state would; checks that depend on the site are made there. */
const judge = async (
  { blobs, documents, root, now }: Evidence,
  repository: string,
): Promise<AcceptedRelease> => {
  const newcomer = {
    fleet: root.fleet,
    site: '',
    agent: '',
    key: '',
    pinnedRoot: root.digest,
    root,
    siteStatement: undefined,
    release: undefined,
    channel: undefined,
    time: undefined,
  };
  return acceptRelease(
    newcomer,
    root,
    await readChannelDocuments(blobs, documents, ''),
    parseChannel(repository),
    Number.MAX_SAFE_INTEGER,
    { now, trusted: true },
    { maxValidityDays: DEFAULT_MAX_VALIDITY_DAYS, agentVersion: '999999.0.0' },
  );
};

const planBundle = async (
  { blobs, documents }: Evidence,
  digest: AcceptedBundle['digest'],
  signal?: AbortSignal,
): Promise<{ readonly stages: readonly (readonly ManifestUpload[])[]; readonly upload: ManifestUpload }> => {
  const bundle = await readBundle(blobs, digest, signal);
  const own = new Set(ownBlobs(bundle).map((blob) => blob.digest));
  const images = (await closureBlobs(blobs, bundle, signal)).filter((blob) => !own.has(blob.digest));
  const upload: ManifestUpload = {
    tag: bundleTag(digest),
    descriptor: defined({
      mediaType: bundle.manifest.mediaType,
      digest,
      size: bundle.size,
      artifactType: bundle.manifest.artifactType,
    }),
    bytes: await readBlob(blobs, digest, MAX_MANIFEST_BYTES, signal),
    blobs: [bundle.manifest.config, ...bundle.manifest.layers],
  };
  const statements: ManifestUpload[] = [];
  for (const document of documents) {
    if (document.role === 'bundle' && document.about === digest)
      statements.push(
        await statementUpload(blobs, document, upload.descriptor, `the statement of bundle ${digest}`),
      );
  }
  // One after the other: where the registry lists no referrers, each adds itself to the same list.
  const attached = statements.map((statement) => [statement]);
  return { stages: [...(await imageStages(blobs, images, signal)), [upload], ...attached], upload };
};

/**
 * Images first, then the indexes that name them, the innermost first: registries refuse a manifest with missing children. Each
 * child of an index has a tag, too: some registries garbage-collect manifests that only an index names.
 */
export const imageStages = async (
  blobs: BlobSource,
  closure: readonly Descriptor[],
  signal?: AbortSignal,
): Promise<readonly (readonly ManifestUpload[])[]> => {
  const manifests = closure.filter(({ mediaType }) => isManifestType(mediaType));
  const images = manifests.filter(({ mediaType }) => !isIndexType(mediaType));
  const indexes = manifests.filter(({ mediaType }) => isIndexType(mediaType)).toReversed();
  const uploads = async (descriptors: readonly Descriptor[]): Promise<readonly ManifestUpload[]> => {
    const found: ManifestUpload[] = [];
    for (const descriptor of descriptors) found.push(await imageUpload(blobs, descriptor, signal));
    return found;
  };
  const single = await uploads(images);
  const isReferrer = ({ subject }: ManifestUpload): boolean => subject !== undefined;
  return [
    single.filter((upload) => !isReferrer(upload)),
    ...(await uploads(indexes)).map((upload) => [upload]),
    // Signatures of images: one after the other, as with statements, and after the images.
    ...single.filter(isReferrer).map((upload) => [upload]),
  ];
};

const imageUpload = async (
  blobs: BlobSource,
  { mediaType, digest, size }: Descriptor,
  signal?: AbortSignal,
): Promise<ManifestUpload> => {
  const bytes = await readBlob(blobs, digest, MAX_MANIFEST_BYTES, signal);
  const manifest = parseManifest(bytes);
  const parts = childrenOf(manifest).filter((child) => !isManifestType(child.mediaType));
  const upload = { tag: imageTag(digest), descriptor: { mediaType, digest, size }, bytes, blobs: parts };
  if (!('subject' in manifest) || !isDigest(manifest.subject?.digest)) return upload;
  const { artifactType, annotations, subject } = manifest;
  const descriptor = {
    ...upload.descriptor,
    ...defined({ artifactType: artifactType || undefined, annotations }),
  };
  return { ...upload, descriptor, subject: subject.digest };
};

/** A signed statement as a referrer of the bundle that it is about. */
export const statementUpload = async (
  blobs: BlobSource,
  document: Document,
  subject: Descriptor,
  what: string,
): Promise<ManifestUpload> => {
  const statement = await readBlob(blobs, document.digest, MAX_STATEMENT_BYTES);
  const { bytes, descriptor } = referrerOf(statement, subject, what);
  return {
    tag: statementTag(descriptor.digest),
    descriptor,
    bytes,
    blobs: [EMPTY_DESCRIPTOR, { mediaType: SIGSTORE_BUNDLE, digest: document.digest, size: document.size }],
    subject: subject.digest,
  };
};
