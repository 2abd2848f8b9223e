import { canonicalBytes } from '#bundles/json/canonical';
import type { Digest } from '#bundles/digest';
import { encodeIndex, layoutMarker } from '#bundles/formats/layout/layout';
import { type Chunked, MEDIUM_FILE, type Medium } from '#bundles/formats/medium/medium';
import type { Plan } from './plan.ts';

export type MetadataFile = { readonly path: string; readonly bytes: Buffer };

/** The three files that make a folder a medium, in their order in a tar. */
export const metadataOf = (
  plan: Plan,
  chunks: ReadonlyMap<Digest, Chunked>,
  before?: Medium,
): { readonly marker: MetadataFile; readonly index: MetadataFile; readonly medium: MetadataFile } => {
  const pieces = plan.blobs.flatMap(({ digest }) => chunks.get(digest) ?? []);
  const medium: Medium = { ...plan.medium, carries: carriesOf(plan), chunks: pieces };
  return {
    marker: { path: 'oci-layout', bytes: layoutMarker() },
    index: { path: 'index.json', bytes: encodeIndex(plan.index) },
    medium: { path: MEDIUM_FILE, bytes: encode(withEarlierDate(medium, before) ?? medium) },
  };
};

/** Receipts are not in the table of contents, because a volume gets them after it was made. */
const carriesOf = ({ blobs }: Plan): Medium['carries'] => {
  const content = blobs.filter(({ rank }) => rank !== 'document');
  return { blobs: content.length, bytes: content.reduce((total, { size }) => total + size, 0) };
};

/** Keeps the date of a medium with the same content, so that writing it again changes nothing. */
const withEarlierDate = (medium: Medium, before: Medium | undefined): Medium | undefined => {
  if (!before) return undefined;
  const candidate = { ...medium, createdAt: before.createdAt };
  return encode(candidate).equals(encode(before)) ? candidate : undefined;
};

const encode = (medium: Medium): Buffer => canonicalBytes(medium);
