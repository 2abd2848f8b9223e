import { join } from 'node:path';
import { canonicalBytes } from '#bundles/canonical';
import { compareBytes } from '#bundles/digest';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { openBlobDirectory } from '#bundles/layout/blob-directory';
import type { Document } from '#bundles/layout/document';
import { openOrStartLayout, writeLayoutIndex } from '#bundles/layout/layout';
import { writeFileAtomically } from '#bundles/layout/write-file';
import { MEDIUM_FILE, type Medium, type OpenMedium } from '#bundles/medium/medium';
import { formatTime } from '#bundles/time';
import { type NewDocument, toDocument } from '../../publish/artifact.ts';

/** Whether the stick can go straight back, and if not, why. */
export type Answered = { readonly written: true } | { readonly written: false; readonly why: string };

/**
 * Puts documents onto the medium that brought the question; each takes the place of the older one about the same. Order
 * of docs/bundle-format.md section 10: blobs, medium.json, index.json, then what nothing names any more; a stick pulled
 * at any moment holds the old medium or the new one. Bundles on it stay as they are.
 */
export const addDocuments = async (
  medium: OpenMedium,
  fleet: string,
  documents: readonly NewDocument[],
  now: Date,
): Promise<Answered> => {
  if (medium.form === 'tar') return { written: false, why: 'it is a tar file; export a new one' };
  if (medium.form === 'parts')
    return { written: false, why: 'its parts are never changed; export a new one' };
  if (medium.medium && medium.medium.fleet !== fleet)
    return { written: false, why: `it carries the fleet ${medium.medium.fleet}` };
  try {
    await write(medium.path, medium.medium ?? emptyMedium(fleet, now), documents);
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

const write = async (path: string, medium: Medium, added: readonly NewDocument[]): Promise<void> => {
  const layout = await openOrStartLayout(path);
  const blobs = openBlobDirectory(path, `medium ${path}`);
  for (const document of added) {
    const { digest, size } = toDocument(document);
    await blobs.write(digest, size, document.bytes);
  }
  const documents = mergeDocuments(medium.documents, added.map(toDocument));
  await writeFileAtomically(join(path, MEDIUM_FILE), canonicalBytes({ ...medium, documents }));
  await writeLayoutIndex(layout, layout.manifests);
  const named = new Set([...documents, ...medium.bundles, ...layout.manifests].map(({ digest }) => digest));
  for (const { digest } of medium.documents) if (!named.has(digest)) await blobs.remove(digest);
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
