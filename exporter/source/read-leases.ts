import type { JudgedLeases } from '#bundles/trust/accept/accept-lease';
import { isLiveLease } from '#bundles/trust/accept/is-live-lease';
import { digestOf } from '#bundles/digest';
import { formatError, isFleetError, toFleetError } from '#bundles/errors';
import { LEASE_ARTIFACT } from '#bundles/media-types';
import { type Channel, formatChannel } from '#bundles/names';
import { channelRepository } from '#bundles/transport/registry/references';
import { judgeRoots } from './check/judge.ts';
import type { OfferedDocument, OfferedLease } from './offer.ts';
import { readInParallel } from './read-in-parallel.ts';
import { readTagged } from './read-tagged.ts';
import { routedBlobs } from './routed-blobs.ts';
import type { Source } from './source.ts';

export type ReadLeases = {
  readonly documents: readonly OfferedDocument[];
  /** Leases that were skipped, with the reason. */
  readonly notes: readonly string[];
};

/** Reads the artifacts under the tag `lease` of these channels. Leases are optional, so an unreadable one becomes a note. */
export const readLeases = async (source: Source, channels: readonly Channel[]): Promise<ReadLeases> => {
  const found = await readInParallel(channels, (channel) => readOne(source, channel));
  return {
    documents: found.flatMap(({ documents }) => documents),
    notes: found.flatMap(({ notes }) => notes),
  };
};

const readOne = async (source: Source, channel: Channel): Promise<ReadLeases> => {
  try {
    const documents = await readTagged(source, channelRepository(channel), 'lease', LEASE_ARTIFACT);
    return {
      documents: (documents ?? []).filter(
        ({ document: { role, environment, clusterType } }) =>
          role === 'root' ||
          (role === 'lease' && environment === channel.environment && clusterType === channel.clusterType),
      ),
      notes: [],
    };
  } catch (error) {
    if (!isFleetError(error) || error.exitCode === 1 || error.retryable) throw error;
    return { documents: [], notes: [describeSkipped(channel, error)] };
  }
};

/** Returns the leases, with their roots if those continue the chain of the releases and site statements. */
export const rootsForLeases = async (
  source: Source,
  certain: readonly OfferedDocument[],
  leases: readonly OfferedDocument[],
  now: Date,
): Promise<readonly OfferedDocument[]> => {
  const known = new Set(certain.map(({ document }) => document.digest));
  const isNewRoot = ({ document: { role, digest } }: OfferedDocument): boolean =>
    role === 'root' && !known.has(digest);
  const alone = leases.filter(({ document }) => document.role === 'lease');
  if (!leases.some(isNewRoot)) return alone;
  const all = [...certain, ...leases];
  try {
    await judgeRoots({
      blobs: routedBlobs(source, new Map(all.map((it) => [it.document.digest, it.repository]))),
      documents: all.map(({ document }) => document),
      now,
    });
    return leases;
  } catch (error) {
    if (!isFleetError(error)) throw error;
    return alone;
  }
};

export type JudgedLease = {
  readonly lease: OfferedLease | undefined;
  readonly notes: readonly string[];
};

/** Chooses the lease if it is live now: on a medium, another one would be useless or stop the import. */
export const chooseLease = (
  { lease, skipped }: JudgedLeases,
  channel: Channel,
  release: number,
  now: Date,
): JudgedLease => {
  const notes = skipped.map((error) => describeSkipped(channel, error));
  if (!lease) return { lease: undefined, notes };
  const { version, expires } = lease.predicate;
  if (!isLiveLease(lease.predicate, now)) {
    const over = `lease ${version} of ${formatChannel(channel)} ended at ${expires} and is skipped`;
    return { lease: undefined, notes: [...notes, over] };
  }
  const digests = lease.statement.envelopes.map((bytes) => digestOf(bytes));
  return { lease: { channel, version, release, expires, digests }, notes };
};

const describeSkipped = (channel: Channel, error: unknown): string =>
  `the lease of ${formatChannel(channel)} is skipped: ${formatError(toFleetError(error))}`;
