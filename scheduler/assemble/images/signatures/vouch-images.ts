import { compareBytes, type Digest, digestOf, isDigest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import { type Evidence, evidenceSource } from '#bundles/trust/images/evidence';
import { type ImagePolicy, policiesOn } from '#bundles/formats/bundle/image-policy';
import type { ImageSignature } from '#bundles/trust/images/read-signatures';
import { namedBy, wrapIndex } from '#bundles/trust/images/signed-index';
import { vouches, whyNot } from '#bundles/trust/images/vouches';
import type { ResolvedImage } from '../resolve-images.ts';
import type { EvidencePlace } from './evidence-place.ts';
import { lockedEvidence } from './locked-evidence.ts';

/** What the images of an environment are held to. */
export type Vouching = {
  readonly policies: readonly ImagePolicy[];
  /** Asked in this order, each only where those before it were not enough: what was found once is used again. */
  readonly places: readonly EvidencePlace[];
  /** A locked manifest's digest to that of the index it was chosen from. */
  readonly indexes: ReadonlyMap<string, string>;
};

/**
 * Images with the signatures that their policies ask for, and those signatures as parts of the closure; among what travels
 * with them anyway, where that is enough. For each policy the
 * smallest that will do, by digest, one about the manifest itself before one about an index: the same signatures at hand give
 * the same bundle. @throws FleetError IMAGE_UNSIGNED; REGISTRY_* where a registry might have had one
 */
export const vouchImages = async (
  images: readonly ResolvedImage[],
  vouching: Vouching,
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
  { places, indexes: noted }: Vouching,
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
    const chosen = on.map((policy) => smallest(search, policy, entry.digest));
    if (!chosen.includes(undefined))
      return withIndexes(
        chosen.flatMap((one) => one ?? []),
        search,
        entry.digest,
      );
  }
  // It may have the signature; to say that there is none would be a guess.
  if (failed !== undefined) throw failed;
  throw unsigned(entry, on, search, places);
};

type Search = {
  readonly signatures: readonly ImageSignature[];
  /** The manifest and the indexes that name it. */
  readonly about: ReadonlySet<Digest>;
  readonly indexes: ReadonlyMap<Digest, Buffer>;
  /** Asks each place about everything that it was not asked about before. */
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

const smallest = (
  { signatures, about }: Search,
  policy: ImagePolicy,
  image: Digest,
): ImageSignature | undefined => {
  const isDirect = (one: ImageSignature): boolean => one.about.includes(image);
  return signatures
    .filter((one) => vouches(one, policy, about))
    .toSorted(
      (a, b) =>
        Number(isDirect(b)) - Number(isDirect(a)) ||
        compareBytes(a.evidence.manifest.descriptor.digest, b.evidence.manifest.descriptor.digest),
    )[0];
};

/** A signature about an index is worth something only beside the index. */
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

const unsigned = (
  { digest, names = [] }: Entry,
  on: readonly ImagePolicy[],
  search: Search,
  places: readonly EvidencePlace[],
): FleetError => {
  const policy = on.find((one) => smallest(search, one, digest) === undefined) as ImagePolicy;
  const looked = places.length === 0 ? 'nowhere' : places.map(({ name }) => name).join(', ');
  return new FleetError(
    'IMAGE_UNSIGNED',
    `the image ${names[0]} ${whyNot(search, policy)}; looked in ${looked}`,
    {
      subject: digest,
      hint: `Sign it: cosign sign --key <key> ${names[0]}, and bring the signature along with the image (docs/image-signatures.md)`,
    },
  );
};
