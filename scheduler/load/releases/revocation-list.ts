import type { Descriptor } from '#bundles/formats/layout/manifest';
import { canonicalBytes } from '#bundles/json/canonical';
import { compareBytes, type Digest } from '#bundles/digest';
import type { Layout } from '#bundles/formats/layout/layout';
import { readBlob } from '#bundles/formats/layout/verified';
import { REVOCATIONS_JSON } from '#bundles/media-types';
import { type Channel, formatChannel } from '#bundles/names';
import type { Revocations } from '#bundles/formats/statements/predicates';
import { parseStrictJson } from '#bundles/json/strict-json';
import { parseDocument } from '#bundles/json/validate';
import type { TrustRoot } from '#bundles/trust/root/root';
import { readDocuments, writeArtifact } from './artifact.ts';
import { readRevokedInLog } from './revoked-in-log.ts';
import type { StoredRelease } from './read-release.ts';
import { revocationsReference } from './references.ts';

const MAX_LIST_BYTES = 4 << 20;

export type Revoked = Revocations['revoked'][number];

/**
 * Everything ever revoked in a channel: the list of the last release, merged with what was revoked in this layout since, by its note
 * or by the audit log. The note is not signed, and a restored layout may lack it. A list only grows.
 * @param roots all roots of the fleet, oldest first
 * @param which 'noted': without the audit log, for questions; 'released': only the list of the last release
 * @throws FleetError MISSING_BLOB, DIGEST_MISMATCH, SCHEMA for an unreadable list, because continuing without it would
 * restore what was revoked; with 'all' the codes of readAuditLog
 */
export const readRevocations = async (
  layout: Layout,
  roots: readonly TrustRoot[],
  channel: Channel,
  previous: StoredRelease | undefined,
  which: 'all' | 'noted' | 'released' = 'all',
): Promise<Revocations> => {
  const released = previous?.subjects.get('revocations');
  const [noted] = which === 'released' ? [] : await readDocuments(layout, revocationsReference(channel));
  const lists = await Promise.all(
    [released, noted?.digest]
      .filter((digest) => digest !== undefined)
      .map((digest) => readList(layout, channel, digest)),
  );
  const logged = which === 'all' ? await readRevokedInLog(layout, roots) : undefined;
  const all = [...lists.flat(), ...(logged?.get(formatChannel(channel)) ?? [])];
  return listOf(roots.at(-1)?.fleet ?? '', channel, all);
};

/** Sorted, each digest once, with the first reason given. */
export const listOf = (fleet: string, channel: Channel, revoked: readonly Revoked[]): Revocations => {
  const { environment, clusterType } = channel;
  const byDigest = new Map<Digest, Revoked>();
  for (const one of revoked) if (!byDigest.has(one.digest)) byDigest.set(one.digest, one);
  return {
    fleet,
    environment,
    clusterType,
    revoked: [...byDigest.values()].toSorted((a, b) => compareBytes(a.digest, b.digest)),
  };
};

/** Writes the list as an artifact of the layout. @returns the index entry that keeps it for the next release */
export const noteRevocations = async (
  layout: Layout,
  channel: Channel,
  list: Revocations,
): Promise<ReadonlyMap<string, Descriptor>> => {
  const document = {
    role: 'revocations',
    mediaType: REVOCATIONS_JSON,
    ...channel,
    bytes: canonicalBytes(list),
  };
  return new Map([
    [revocationsReference(channel), await writeArtifact(layout, REVOCATIONS_JSON, [document])],
  ]);
};

export const findRevoked = (list: Revocations, bundles: Iterable<Digest>): Revoked | undefined => {
  const named = new Set(bundles);
  return list.revoked.find(({ digest }) => named.has(digest));
};

const readList = async (layout: Layout, channel: Channel, digest: Digest): Promise<readonly Revoked[]> => {
  const what = `the revocation list of ${formatChannel(channel)}`;
  const bytes = await readBlob(layout.blobs, digest, MAX_LIST_BYTES);
  const json = parseStrictJson(bytes, { maxBytes: MAX_LIST_BYTES }, what);
  return parseDocument('revocations', json, what).revoked;
};
