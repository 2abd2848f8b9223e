import { canonicalBytes } from '#bundles/json/canonical';
import { compareBytes } from '#bundles/digest';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import type { Document } from '#bundles/formats/layout/document';
import { encodeIndex, layoutMarker, openOrStartLayout } from '#bundles/formats/layout/layout';
import { MEDIUM_FILE, type Medium, type OpenMedium } from '#bundles/formats/medium/medium';
import { blobPath } from '#bundles/formats/medium/blob-path';
import { readOptional } from '#bundles/formats/medium/plain-files';
import {
  removeFilesFromMedium,
  writeFileOntoMedium,
  writeFilesOntoMedium,
} from '#bundles/formats/medium/write-onto-medium';
import type { NewFile } from '#bundles/formats/layout/write-file';
import { formatTime } from '#bundles/time';
import type { TrustRoot } from '#bundles/trust/root/root';
import { type NewDocument, toDocument } from '../../../load/releases/artifact.ts';
import { signedByFleet } from './signed-by-fleet.ts';

/** Whether the answers were written to the medium, and if not, why. */
export type Answered = { readonly written: true } | { readonly written: false; readonly why: string };

/**
 * Writes documents to the medium that brought requests or reports. Each replaces the older one on the same topic. They are
 * written in the order of docs/bundle-format.md section 10: blobs, medium.json, index.json, then deletions. A medium removed
 * at any moment holds either the old or the new state. Bundles on it are not changed. The table of contents is unsigned, so a
 * superseded blob is deleted only if a signature of the fleet proves that the office wrote it.
 * @param roots all roots of the fleet, the newest last
 * @returns `written: false` for a tar file, a set of parts, another fleet's medium or a read-only medium
 * @throws FleetError MEDIUM_INVALID if a link or other object is in the place of a folder or file; DISK_FULL, IO
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
  const missing = new Map<string, NewFile>();
  for (const document of added) {
    const file = blobPath(toDocument(document).digest);
    if (missing.has(file) || (await readOptional(path, file))?.equals(document.bytes)) continue;
    missing.set(file, { path: file, bytes: document.bytes });
  }
  await writeFilesOntoMedium(path, [...missing.values()]);
  const documents = mergeDocuments(medium.documents, added.map(toDocument));
  await writeFileOntoMedium(path, MEDIUM_FILE, canonicalBytes({ ...medium, documents }));
  await writeFileOntoMedium(path, 'index.json', encodeIndex(manifests));
  await writeFileOntoMedium(path, 'oci-layout', layoutMarker());
  const named = new Set([...documents, ...medium.bundles, ...manifests].map(({ digest }) => digest));
  const superseded = medium.documents.filter(({ digest }) => !named.has(digest));
  const gone = await signedByFleet(superseded, path, roots);
  await removeFilesFromMedium(
    path,
    gone.map(({ digest }) => blobPath(digest)),
  );
};

/** Merges documents, one per topic. Sorted, so that the result does not depend on the order of visits. */
export const mergeDocuments = (old: readonly Document[], added: readonly Document[]): readonly Document[] => {
  // A new site statement also replaces the secrets: a site without secrets has only the statement.
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

/** The topic of a document. Each root version is its own topic, because agents follow the rotations one by one. */
const topicOf = ({ role, environment, clusterType, site, agent, version }: Document): string =>
  [role, environment, clusterType, site, agent, role === 'root' ? String(version).padStart(9, '0') : '']
    .map((part) => part ?? '')
    .join(' ');

const uniqueByDigest = (documents: readonly Document[]): readonly Document[] => [
  ...new Map(documents.map((document) => [`${topicOf(document)} ${document.digest}`, document])).values(),
];
