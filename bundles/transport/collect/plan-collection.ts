import { closureBlobs } from '../../formats/bundle/closure-blobs.ts';
import { isManifestType, MAX_MANIFEST_BYTES, parseImageManifest } from '../../formats/layout/manifest.ts';
import { readBundle } from '../../formats/bundle/read-bundle.ts';
import { compareBytes, type Digest, digestFromHex } from '../../digest.ts';
import { readArtifact } from '../../formats/layout/artifact.ts';
import type { BlobSource } from '../../formats/layout/blobs.ts';
import { readBlob } from '../../formats/layout/verified.ts';
import { readChain } from '../publish/read-chain.ts';
import type { Pointer } from '../publish/upload-batch.ts';
import type { Repository } from '../registry/registry.ts';
import type { TrustRoot } from '../../trust/root/root.ts';
import { type Artifact, digestInTag, readArtifacts, readOne } from './read-artifacts.ts';

export type CollectionInput = {
  /** 'prod/line', 'sites/plant-7', 'audit' */
  readonly path: string;
  readonly repository: Repository;
  /** The layout's pointers of this repository: their content may be about to be uploaded. */
  readonly pointers: readonly Pointer[];
  readonly layout: BlobSource;
  readonly chain: readonly TrustRoot[];
  /** Chooses the artifacts that stay. @param pinned targets of pointers, in the registry and in the layout */
  readonly choose: (artifacts: readonly Artifact[], pinned: readonly Artifact[]) => ReadonlySet<Digest>;
  /** Bundles that sites reported to hold: the next medium builds on them. */
  readonly held: ReadonlySet<Digest>;
};

export type Collection = {
  readonly path: string;
  /** Targets of the pointers at the time of planning. */
  readonly pointers: ReadonlyMap<string, Digest | undefined>;
  /** Tags in the order of removal: a referencing artifact before the artifacts that it references. */
  readonly remove: readonly string[];
  readonly keptReleases: number;
  /** Bundles that stay, and bundles that are removed. */
  readonly bundles: { readonly stay: ReadonlySet<Digest>; readonly go: readonly Digest[] };
  readonly chain: readonly TrustRoot[];
};

/**
 * Plans which tags of a repository to remove. Reads everything that stays, down to the images; when something cannot be read,
 * nothing is removed.
 * @throws FleetError the code of any error in an artifact that a pointer names; REGISTRY_*
 */
export const planCollection = async (input: CollectionInput, signal: AbortSignal): Promise<Collection> => {
  const { path, repository, layout, choose } = input;
  const { blobs } = repository;
  const tags = await repository.tags(signal);
  const pointers = await readPointers(repository, tags, signal);
  const named = [...pointers.values()].filter((digest) => digest !== undefined);
  const chain = await chainOf(blobs, named, input.chain);
  const artifacts = await readArtifacts(path, blobs, pick(tags, 'r'), chain, signal);
  const pinned: Artifact[] = [];
  for (const digest of named) pinned.push(await readOne(path, blobs, digest, chain));
  for (const { artifact } of input.pointers)
    if (!named.includes(artifact.digest)) pinned.push(await readOne(path, layout, artifact.digest, chain));

  const kept = choose(artifacts, pinned);
  const stays = [...artifacts, ...pinned].filter(({ digest }) => kept.has(digest));
  const bundle = tags.includes('bundle') ? await repository.resolve('bundle', signal) : undefined;
  const bundles = new Set([
    ...stays.flatMap((artifact) => artifact.bundles),
    ...(bundle ? [bundle.digest] : []),
  ]);
  for (const digest of pick(tags, 'b')) if (input.held.has(digest)) bundles.add(digest);
  const images = await imagesOf(bundles, blobs, layout, signal);

  const releases = artifacts.filter(({ digest }) => !kept.has(digest));
  const goingReleases = new Set(releases.map(({ digest }) => digest));
  const going = new Set([
    ...pick(tags, 'b').filter((digest) => !bundles.has(digest)),
    ...pick(tags, 'i').filter((digest) => !images.has(digest)),
  ]);
  const statements = await statementsGoing(repository, pick(tags, 's'), bundles, signal);
  return {
    path,
    pointers,
    keptReleases: artifacts.length - releases.length,
    bundles: { stay: bundles, go: pick(tags, 'b').filter((digest) => !bundles.has(digest)) },
    chain,
    remove: [
      ...tagsOf(tags, 'r', goingReleases),
      ...tagsOf(tags, 's', statements),
      ...tags.filter((tag) => going.has(subjectInFallbackTag(tag) as Digest)),
      ...tagsOf(tags, 'b', going),
      ...tagsOf(tags, 'i', going),
    ],
  };
};

const POINTERS = ['log', 'release', 'lease', 'site', 'receipts'] as const;

const readPointers = async (
  repository: Repository,
  tags: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, Digest | undefined>> => {
  const found = new Map<string, Digest | undefined>();
  for (const tag of POINTERS)
    if (tags.includes(tag)) found.set(tag, (await repository.resolve(tag, signal))?.digest);
  return found;
};

/** Whether a pointer has changed since the plan was made. */
export const hasMoved = async (
  repository: Repository,
  { pointers }: Collection,
  signal: AbortSignal,
): Promise<boolean> => {
  const now = await readPointers(repository, [...pointers.keys()], signal);
  return [...pointers].some(([tag, digest]) => now.get(tag) !== digest);
};

/** Extends the known roots by those of the pointers: a layout without the newest root must not remove artifacts signed under it. */
const chainOf = async (
  blobs: BlobSource,
  named: readonly Digest[],
  known: readonly TrustRoot[],
): Promise<readonly TrustRoot[]> => {
  let chain = known;
  for (const digest of named)
    chain = await readChain(blobs, await readArtifact(blobs, { digest }, { what: digest }), chain);
  return chain;
};

const pick = (tags: readonly string[], kind: 'r' | 'b' | 'i' | 's'): readonly Digest[] =>
  tags.flatMap((tag) => digestInTag(tag, kind) ?? []);

const tagsOf = (
  tags: readonly string[],
  kind: 'r' | 'b' | 'i' | 's',
  digests: ReadonlySet<Digest>,
): readonly string[] =>
  tags
    .filter((tag) => {
      const digest = digestInTag(tag, kind);
      return digest !== undefined && digests.has(digest);
    })
    .toSorted(compareBytes);

/** Manifests of all images, including the children of indexes. Images that are being published are in the layout already. */
const imagesOf = async (
  bundles: ReadonlySet<Digest>,
  blobs: BlobSource,
  layout: BlobSource,
  signal: AbortSignal,
): Promise<ReadonlySet<Digest>> => {
  const images = new Set<Digest>();
  const from = eitherOf(layout, blobs);
  for (const digest of bundles) {
    const closure = await closureBlobs(from, await readBundle(from, digest, signal), signal);
    for (const blob of closure) if (isManifestType(blob.mediaType)) images.add(blob.digest);
  }
  return images;
};

/** A source that reads from the first repository, then from the second. */
const eitherOf = (near: BlobSource, far: BlobSource): BlobSource => ({
  name: far.name,
  size: async (digest) => (await near.size(digest)) ?? far.size(digest),
  open: async (digest, signal) => ((await near.size(digest)) === undefined ? far : near).open(digest, signal),
});

/** Statements about bundles that are removed. A statement without a readable subject stays. */
const statementsGoing = async (
  { blobs }: Repository,
  statements: readonly Digest[],
  bundles: ReadonlySet<Digest>,
  signal: AbortSignal,
): Promise<ReadonlySet<Digest>> => {
  const going = new Set<Digest>();
  for (const digest of statements) {
    if ((await blobs.size(digest)) === undefined) continue;
    const { subject } = parseImageManifest(await readBlob(blobs, digest, MAX_MANIFEST_BYTES, signal));
    if (subject && !bundles.has(subject.digest)) going.add(digest);
  }
  return going;
};

const subjectInFallbackTag = (tag: string): Digest | undefined => {
  const [, hex] = /^sha256-([0-9a-f]{64})$/.exec(tag) ?? [];
  return hex === undefined ? undefined : digestFromHex(hex);
};
