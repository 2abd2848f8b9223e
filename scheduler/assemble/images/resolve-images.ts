import type { ClosureEntry } from '#bundles/formats/bundle/config';
import {
  childrenOf,
  type Descriptor,
  isManifestType,
  MAX_MANIFEST_BYTES,
  parseManifest,
} from '#bundles/formats/layout/manifest';
import { compareBytes, type Digest, parseDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { BlobSource } from '#bundles/formats/layout/blobs';
import { readBlob } from '#bundles/formats/layout/verified';
import { OCI_MANIFEST } from '#bundles/media-types';
import type { SignedRepository } from './signatures/registry-evidence.ts';

/** An image by its name in the closure, with all its blobs, manifests before their children. */
export type ResolvedImage = {
  readonly entry: ClosureEntry;
  readonly blobs: readonly Descriptor[];
  /** Source of the blobs. */
  readonly source: BlobSource;
};

/** The repository in the name of an image. @param name 'host/repo@sha256:...' */
export type PullImage = (name: string) => SignedRepository;

type PullBlobs = (name: string) => Pick<SignedRepository, 'blobs'>;

/**
 * Finds pinned images in the first layout that has them, or, with `pull`, in the registries of their names.
 * @param names 'host/repo@sha256:...'
 * @param pull undefined: registries are not used
 * @throws FleetError MISSING_BLOB, IMAGE_MISSING with a hint; REGISTRY_*
 */
export const resolveImages = async (
  sources: readonly BlobSource[],
  names: readonly string[],
  signal: AbortSignal,
  pull?: PullBlobs,
): Promise<readonly ResolvedImage[]> => {
  const byDigest = Map.groupBy(names, (name) =>
    parseDigest(name.slice(name.indexOf('@') + 1), `digest of ${name}`),
  );
  const images: ResolvedImage[] = [];
  for (const [digest, aliases] of [...byDigest].toSorted(([a], [b]) => compareBytes(a, b))) {
    const sorted = aliases.toSorted(compareBytes);
    const found = await resolveManifest(sources, digest, sorted, signal, pull);
    images.push({ ...found, entry: { ...found.entry, names: sorted } });
  }
  return images;
};

/**
 * A manifest and all blobs that it reaches, without names. @param names names of the image, which say where it can be pulled
 * from
 */
export const resolveManifest = async (
  sources: readonly BlobSource[],
  digest: Digest,
  names: readonly string[],
  signal: AbortSignal,
  pull: PullBlobs | undefined,
): Promise<ResolvedImage> => {
  const { source, size } = (await find(sources, digest)) ?? (await pulled(sources, names, digest, pull));
  const blobs = new Map<Digest, Descriptor>();
  const top = await readBlob(source, digest, MAX_MANIFEST_BYTES, signal);
  const { mediaType } = parseManifest(top, names[0]);
  const entry: ClosureEntry = { digest, size, mediaType: mediaType ?? OCI_MANIFEST };
  const waiting: Descriptor[] = [{ digest, size, mediaType: entry.mediaType }];
  for (let next = waiting.shift(); next; next = waiting.shift()) {
    if (blobs.has(next.digest)) continue;
    blobs.set(next.digest, next);
    if (isManifestType(next.mediaType)) {
      waiting.push(
        ...childrenOf(
          parseManifest(await readBlob(source, next.digest, MAX_MANIFEST_BYTES, signal), names[0]),
        ),
      );
    }
  }
  return { entry, blobs: [...blobs.values()], source };
};

type Found = { readonly source: BlobSource; readonly size: number };

const find = async (sources: readonly BlobSource[], digest: Digest): Promise<Found | undefined> => {
  for (const source of sources) {
    const size = await source.size(digest);
    if (size !== undefined) return { source, size };
  }
  return undefined;
};

/** The same content may have several names; the first registry that has it is used. */
const pulled = async (
  sources: readonly BlobSource[],
  names: readonly string[],
  digest: Digest,
  pull: PullBlobs | undefined,
): Promise<Found> => {
  if (!pull) throw missing(sources, names[0] ?? digest);
  const found = await find(
    names.map((name) => pull(name).blobs),
    digest,
  );
  if (found) return found;
  throw new FleetError(
    'IMAGE_MISSING',
    `the image ${names[0]} is in no layout, and its registry has not got it`,
    {
      hint: 'Was it removed there? Push it again, or lock what is there now: fleet-scheduler images lock --update',
    },
  );
};

const missing = (sources: readonly BlobSource[], name: string): FleetError =>
  new FleetError(
    'MISSING_BLOB',
    `the image ${name} is not in ${sources.length > 0 ? sources.map((it) => it.name).join(' or ') : 'any layout'}`,
    {
      hint: `Pull it with --pull-images, or copy it into the layout of --images: skopeo copy docker://${name} oci:<layout>`,
    },
  );
