import type { Descriptor } from '#bundles/formats/layout/manifest';
import { canonicalBytes } from '#bundles/json/canonical';
import { compareBytes, type Digest, digestOf, hexOf } from '#bundles/digest';
import type { Document } from '#bundles/formats/layout/document';
import { encodeIndex, layoutMarker, layoutReference } from '#bundles/formats/layout/layout';
import { REF_NAME } from '#bundles/media-types';
import {
  CHUNKS_FOLDER,
  type Chunked,
  MEDIUM_FILE,
  type Medium,
  type MediumBundle,
} from '#bundles/formats/medium/medium';
import { type Channel, formatChannel } from '#bundles/names';
import { type Blob, digestOfBundle, type Made } from './bundles.ts';
import { FLEET } from './fleet.ts';

const closureOf = ({ manifest, config, layers, images }: Made): readonly Blob[] => [
  manifest,
  config,
  ...layers,
  ...images,
];
const rank = ({ descriptor: { mediaType } }: Blob): number =>
  mediaType.includes('manifest') ? 0 : mediaType.endsWith('+json') ? 1 : 2;
const byDigest = (a: Blob, b: Blob): number => compareBytes(a.descriptor.digest, b.descriptor.digest);
const entry = ({ descriptor }: Blob, channel: Channel, tag: string): Descriptor => ({
  ...descriptor,
  annotations: { [REF_NAME]: layoutReference(formatChannel(channel), `${tag}-${hexOf(descriptor.digest)}`) },
});

/** A document with its bytes. */
export type Paper = Omit<Document, 'digest' | 'size'> & { readonly bytes: Buffer };

export type MediumInput = {
  readonly createdAt: string;
  readonly papers: readonly Paper[];
  readonly bundles: readonly { readonly made: Made; readonly base?: Made }[];
  readonly partSize?: number;
};

/** All files of a medium in the order of a tar (docs/bundle-format.md section 10). */
export const mediumFiles = ({
  createdAt,
  papers,
  bundles,
  partSize = Infinity,
}: MediumInput): readonly (readonly [string, Buffer])[] => {
  const assumedOf = (base: Made | undefined): ReadonlySet<Digest> =>
    new Set(base ? closureOf(base).map(({ descriptor }) => descriptor.digest) : []);
  const listed: MediumBundle[] = [];
  const carried = new Map<Digest, Blob>();
  const index: Descriptor[] = [];
  for (const { made, base } of bundles) {
    const assumed = assumedOf(base);
    const here = closureOf(made).filter(({ descriptor }) => !assumed.has(descriptor.digest));
    for (const blob of here) carried.set(blob.descriptor.digest, blob);
    const left = closureOf(made).filter(({ descriptor }) => assumed.has(descriptor.digest));
    listed.push({
      digest: digestOfBundle(made),
      size: made.manifest.descriptor.size,
      ...made.channel,
      kind: made.kind,
      assumed: left.toSorted(byDigest).map(({ descriptor: { digest, size } }) => ({ digest, size })),
      ...(base ? { base: [digestOfBundle(base)] } : {}),
    });
    if (left.length > 0) continue;
    index.push(entry(made.manifest, made.channel, 'b'));
    for (const manifest of made.images.slice(0, 1)) index.push(entry(manifest, made.channel, 'i'));
  }
  const pieces = [...carried.values()]
    .filter((blob) => rank(blob) === 2 && blob.bytes.byteLength > partSize)
    .toSorted(byDigest)
    .map((blob) => cut(blob, partSize));
  const inPieces = new Set(pieces.map(({ chunked }) => chunked.digest));
  const medium: Medium = {
    format: 1,
    fleet: FLEET,
    createdAt,
    documents: papers.map(({ bytes, ...claims }) => ({
      ...claims,
      digest: digestOf(bytes),
      size: bytes.byteLength,
    })),
    bundles: listed,
    chunks: pieces.map(({ chunked }) => chunked),
    critical: [],
  };
  const documents = new Map(papers.map(({ bytes }) => [digestOf(bytes), bytes]));
  return [
    ['oci-layout', layoutMarker()],
    ['index.json', encodeIndex(index)],
    [MEDIUM_FILE, canonicalBytes(medium)],
    ...[...documents]
      .toSorted(([a], [b]) => compareBytes(a, b))
      .map(([digest, bytes]) => [blobPath(digest), bytes] as const),
    ...[...carried.values()]
      .filter(({ descriptor }) => !inPieces.has(descriptor.digest))
      .toSorted((a, b) => rank(a) - rank(b) || byDigest(a, b))
      .map(({ descriptor, bytes }) => [blobPath(descriptor.digest), bytes] as const),
    ...pieces.flatMap(({ parts }) => parts),
  ];
};

const blobPath = (digest: Digest): string => `blobs/sha256/${hexOf(digest)}`;

const cut = (
  { descriptor: { digest, size }, bytes }: Blob,
  partSize: number,
): { readonly chunked: Chunked; readonly parts: readonly (readonly [string, Buffer])[] } => {
  const parts = Array.from({ length: Math.ceil(size / partSize) }, (_, index) => {
    const path = `${CHUNKS_FOLDER}/${hexOf(digest).slice(0, 32)}.${String(index).padStart(3, '0')}`;
    return [path, bytes.subarray(index * partSize, (index + 1) * partSize)] as const;
  });
  return {
    chunked: {
      digest,
      size,
      files: parts.map(([path, part]) => ({ path, digest: digestOf(part), size: part.byteLength })),
    },
    parts,
  };
};
