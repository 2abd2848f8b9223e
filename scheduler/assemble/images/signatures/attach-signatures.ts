import { compareBytes, type Digest, digestOf, isDigest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import { type Evidence, evidenceSource } from '#bundles/trust/images/evidence';
import { type ImagePolicy, policiesOn } from '#bundles/formats/bundle/image-policy';
import type { ImageSignature } from '#bundles/trust/images/read-signatures';
import { namedBy, wrapIndex } from '#bundles/trust/images/signed-index';
import { satisfiesPolicy, whyUnsatisfied } from '#bundles/trust/images/satisfies-policy';
import type { ResolvedImage } from '../resolved-image.ts';
import type { EvidencePlace } from './evidence-place.ts';
import { lockedEvidence } from './locked-evidence.ts';

/** Signature requirements for the images of an environment. */
export type SignatureRequirements = {
  readonly policies: readonly ImagePolicy[];
  /** Sources in the order of use; each is used only if the earlier ones did not suffice. Results are cached. */
  readonly places: readonly EvidencePlace[];
  /** Digest of a locked manifest -> digest of the index that it was chosen from. */
  readonly indexes: ReadonlyMap<string, string>;
};

/**
 * Adds the signatures that policies require to images, as parts of the closure; attachments that are carried anyway are used
 * first. For each policy the signature with the smallest digest is chosen, one of the manifest before one of an index, so that
 * the same available signatures give the same bundle. @throws FleetError IMAGE_UNSIGNED; REGISTRY_* if a registry that may have
 * a signature cannot be read
 */
export const attachSignatures = async (
  images: readonly ResolvedImage[],
  vouching: SignatureRequirements,
  signal: AbortSignal,
): Promise<readonly ResolvedImage[]> => {
  const vouched: ResolvedImage[] = [];
  for (const image of images) {
    const on = policiesOn(vouching.policies, image.entry.names ?? []);
    if (on.length === 0) {
      vouched.push(image);
      continue;
    }
    const locked = image.entry.attachments ?? [];
    const own = images.filter(({ entry }) => locked.includes(entry.digest));
    const places = own.length === 0 ? vouching.places : [lockedEvidence(own), ...vouching.places];
    const evidence = await findEvidence(image.entry, on, { ...vouching, places }, signal);
    const chosen = evidence.map(({ manifest }) => manifest.descriptor.digest);
    const attachments = [...new Set([...locked, ...chosen])].toSorted(compareBytes);
    const fresh = evidence.filter(({ manifest }) => !locked.includes(manifest.descriptor.digest));
    vouched.push({ ...image, entry: { ...image.entry, attachments } }, ...fresh.map(asImage));
  }
  return vouched;
};

const asImage = (evidence: Evidence): ResolvedImage => {
  const { mediaType, digest, size } = evidence.manifest.descriptor;
  return {
    entry: { digest, size, mediaType },
    blobs: [evidence.manifest, ...evidence.blobs].map(({ descriptor }) => descriptor),
    source: evidenceSource([evidence], `evidence ${digest}`),
  };
};

type Entry = ResolvedImage['entry'];

/** Sorted by digest. */
const findEvidence = async (
  entry: Entry,
  on: readonly ImagePolicy[],
  { places, indexes: noted }: SignatureRequirements,
  signal: AbortSignal,
): Promise<readonly Evidence[]> => {
  const search = newSearch(entry, noted.get(entry.digest), signal);
  let failed: unknown;
  for (const [at] of places.entries()) {
    try {
      await search.go(places.slice(0, at + 1));
    } catch (error) {
      if (!(isFleetError(error) && error.code.startsWith('REGISTRY_'))) throw error;
      failed ??= error;
    }
    const chosen = await Promise.all(on.map((policy) => smallest(search, policy, entry.digest)));
    if (!chosen.includes(undefined))
      return withIndexes(
        chosen.flatMap((one) => one ?? []),
        search,
        entry.digest,
      );
  }
  // The registry may have the signature, so that its error is reported instead of IMAGE_UNSIGNED.
  if (failed !== undefined) throw failed;
  throw await unsigned(entry, on, search, places);
};

type Search = {
  readonly signatures: readonly ImageSignature[];
  /** The manifest and the indexes that name it. */
  readonly about: ReadonlySet<Digest>;
  readonly indexes: ReadonlyMap<Digest, Buffer>;
  /** Asks each source about the digests that it was not asked about before. */
  readonly go: (places: readonly EvidencePlace[]) => Promise<void>;
};

const newSearch = ({ digest, names = [] }: Entry, noted: string | undefined, signal: AbortSignal): Search => {
  const signatures: ImageSignature[] = [];
  const about = new Set([digest]);
  const indexes = new Map<Digest, Buffer>();
  const asked = new Map<EvidencePlace, Set<Digest | 'indexes'>>();
  const isNew = (place: EvidencePlace, question: Digest | 'indexes'): boolean => {
    const before = asked.get(place) ?? new Set();
    asked.set(place, before);
    return !before.has(question) && before.add(question) !== undefined;
  };
  const index = isDigest(noted) ? noted : undefined;
  return {
    signatures,
    about,
    indexes,
    go: async (places) => {
      for (const place of places) {
        if (!isNew(place, 'indexes')) continue;
        for (const bytes of await place.indexes(digest, names, index, signal)) {
          if (!namedBy(bytes).includes(digest)) continue;
          indexes.set(digestOf(bytes), bytes);
          about.add(digestOf(bytes));
        }
      }
      for (const place of places) {
        for (const one of about)
          if (isNew(place, one)) signatures.push(...(await place.signatures(one, names, signal)));
      }
    },
  };
};

const smallest = async (
  { signatures, about }: Search,
  policy: ImagePolicy,
  image: Digest,
): Promise<ImageSignature | undefined> => {
  const isDirect = (one: ImageSignature): boolean => one.about.includes(image);
  const judged = await Promise.all(signatures.map((one) => satisfiesPolicy(one, policy, about)));
  return signatures
    .filter((_, at) => judged[at])
    .toSorted(
      (a, b) =>
        Number(isDirect(b)) - Number(isDirect(a)) ||
        compareBytes(a.evidence.manifest.descriptor.digest, b.evidence.manifest.descriptor.digest),
    )[0];
};

/** A signature of an index is valid only together with the index. */
const withIndexes = (
  chosen: readonly ImageSignature[],
  { indexes }: Search,
  image: Digest,
): readonly Evidence[] => {
  const needed = chosen
    .filter(({ about }) => !about.includes(image))
    .flatMap(({ about }) => about.flatMap((digest) => indexes.get(digest) ?? []));
  const evidence = [...chosen.map((one) => one.evidence), ...needed.map(wrapIndex)];
  return [...new Map(evidence.map((one) => [one.manifest.descriptor.digest, one]))]
    .toSorted(([a], [b]) => compareBytes(a, b))
    .map(([, one]) => one);
};

const unsigned = async (
  { digest, names = [] }: Entry,
  on: readonly ImagePolicy[],
  search: Search,
  places: readonly EvidencePlace[],
): Promise<FleetError> => {
  const chosen = await Promise.all(on.map((one) => smallest(search, one, digest)));
  const policy = on[chosen.indexOf(undefined)] as ImagePolicy;
  const looked = places.length === 0 ? 'nowhere' : places.map(({ name }) => name).join(', ');
  return new FleetError(
    'IMAGE_UNSIGNED',
    `the image ${names[0]} ${await whyUnsatisfied(search, policy)}; looked in ${looked}`,
    {
      subject: digest,
      hint: `Sign it: cosign sign ${policy.keys.length > 0 ? '--key <key> ' : ''}${names[0]}, and bring the signature along with the image (docs/image-signatures.md)`,
    },
  );
};
