import { canonicalBytes } from '#bundles/canonical';
import { compareBytes } from '#bundles/digest';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import type { Document } from '#bundles/layout/document';
import { encodeIndex, layoutMarker, openOrStartLayout } from '#bundles/layout/layout';
import { MEDIUM_FILE, type Medium, type OpenMedium } from '#bundles/medium/medium';
import { blobPath } from '#bundles/medium/open-tar';
import { readOptional } from '#bundles/medium/plain-files';
import { removeFileFromMedium, writeFileOntoMedium } from '#bundles/medium/write-onto-medium';
import { formatTime } from '#bundles/time';
import type { TrustRoot } from '#bundles/trust/root';
import { type NewDocument, toDocument } from '../../publish/artifact.ts';
import { provenOurs } from './proven-ours.ts';

/** Whether the stick can go straight back, and if not, why. */
export type Answered = { readonly written: true } | { readonly written: false; readonly why: string };

/**
 * Puts documents onto the medium that brought the question; each takes the place of the older one about the same. Order
 * of docs/bundle-format.md section 10: blobs, medium.json, index.json, then what nothing names any more; a stick pulled
 * at any moment holds the old medium or the new one. Bundles on it stay as they are. Its table of contents is unsigned, so of what it
 * calls superseded only that goes which the fleet's own signature proves to be ours.
 * @param roots of the fleet, the newest last
 * @throws FleetError MEDIUM_INVALID where a link or something else is in the place of a folder or file; DISK_FULL, IO
 */
export const addDocuments = async (
  medium: OpenMedium,
  roots: readonly TrustRoot[],
  documents: readonly NewDocument[],
  now: Date,
): Promise<Answered> => {
  const fleet = roots.at(-1)?.fleet ?? '';
  if (medium.form === 'tar') return { written: false, why: 'it is a tar file; export a new one' };
  if (medium.form === 'parts')
    return { written: false, why: 'its parts are never changed; export a new one' };
  if (medium.medium && medium.medium.fleet !== fleet)
    return { written: false, why: `it carries the fleet ${medium.medium.fleet}` };
  try {
    await write(medium.path, medium.medium ?? emptyMedium(fleet, now), documents, roots);
    return { written: true };
  } catch (error) {
    const refusal = error instanceof FleetError ? error : toFleetError(error, `writing to ${medium.path}`);
    if (isFleetError(refusal, 'PERMISSION')) return { written: false, why: 'it cannot be written to' };
    throw refusal;
  }
};

const emptyMedium = (fleet: string, now: Date): Medium => ({
  format: 1,
  fleet,
  createdAt: formatTime(now),
  documents: [],
  bundles: [],
  chunks: [],
  critical: [],
});

const write = async (
  path: string,
  medium: Medium,
  added: readonly NewDocument[],
  roots: readonly TrustRoot[],
): Promise<void> => {
  const { manifests } = await openOrStartLayout(path, readOptional);
  for (const document of added) {
    const file = blobPath(toDocument(document).digest);
    const there = await readOptional(path, file);
    if (!there?.equals(document.bytes)) await writeFileOntoMedium(path, file, document.bytes);
  }
  const documents = mergeDocuments(medium.documents, added.map(toDocument));
  await writeFileOntoMedium(path, MEDIUM_FILE, canonicalBytes({ ...medium, documents }));
  await writeFileOntoMedium(path, 'index.json', encodeIndex(manifests));
  await writeFileOntoMedium(path, 'oci-layout', layoutMarker());
  const named = new Set([...documents, ...medium.bundles, ...manifests].map(({ digest }) => digest));
  const superseded = medium.documents.filter(({ digest }) => !named.has(digest));
  for (const { digest } of await provenOurs(superseded, path, roots))
    await removeFileFromMedium(path, blobPath(digest));
};

/** One document for each thing that can be said, sorted, so that the order of visits never shows. */
export const mergeDocuments = (old: readonly Document[], added: readonly Document[]): readonly Document[] => {
  // A site that has no secret any more says so by its statement alone.
  const replaced = new Set(
    added.flatMap((it) => [
      topicOf(it),
      ...(it.role === 'site' ? [topicOf({ ...it, role: 'secrets' })] : []),
    ]),
  );
  return [...old.filter((document) => !replaced.has(topicOf(document))), ...uniqueByDigest(added)].toSorted(
    (a, b) => compareBytes(topicOf(a), topicOf(b)) || compareBytes(a.digest, b.digest),
  );
};

/** Roots are kept one by one: a site that was away for years walks along them. */
const topicOf = ({ role, environment, clusterType, site, agent, version }: Document): string =>
  [role, environment, clusterType, site, agent, role === 'root' ? String(version).padStart(9, '0') : '']
    .map((part) => part ?? '')
    .join(' ');

const uniqueByDigest = (documents: readonly Document[]): readonly Document[] => [
  ...new Map(documents.map((document) => [`${topicOf(document)} ${document.digest}`, document])).values(),
];
