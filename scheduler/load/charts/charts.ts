import { type Digest, digestOf, isDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { ChartReference } from './manifest-settings.ts';

/** A chart from a registry or chart repository, with the digest of its archive. */
export type PinnedChart = { readonly name: string; readonly version: string; readonly digest: Digest };

/**
 * The archive that the lock file names for a chart. @param locks of the platform: 'oci://host/path/name:1.2.3' ->
 * '...@sha256:...'
 * @throws FleetError CHART_UNPINNED, DIGEST_MISMATCH, IMAGE_MISSING, SOURCE_UNREACHABLE, OBJECT_INVALID, YAML_SYNTAX,
 * REGISTRY_*
 */
export type Charts = (
  reference: ChartReference,
  locks: ReadonlyMap<string, string>,
  signal: AbortSignal,
) => Promise<{ readonly pinned: PinnedChart; readonly archive: Buffer }>;

/** Fetches the bytes of a chart with a known digest; the caller verifies them. */
export type FetchChart = (
  reference: ChartReference,
  digest: Digest,
  signal: AbortSignal,
) => Promise<Uint8Array>;

export const chartKey = ({ chart, version }: ChartReference): string => `${chart}:${version}`;

/** Whether this key of a lock file names a chart, not an image. */
export const isChartKey = (key: string): boolean => /^(?:oci|https?):\/\//.test(key);

/** Charts pinned by the lock file, each fetched once in a run. */
export const openCharts = (fetch: FetchChart): Charts => {
  const known = new Map<Digest, Promise<Buffer>>();
  return async (reference, locks, signal) => {
    const digest = lockedDigest(reference, locks);
    const fetching = known.get(digest) ?? fetchVerified(fetch, reference, digest, signal);
    known.set(digest, fetching);
    return {
      pinned: { name: reference.chart, version: reference.version, digest },
      archive: await fetching,
    };
  };
};

const lockedDigest = (reference: ChartReference, locks: ReadonlyMap<string, string>): Digest => {
  const locked = locks.get(chartKey(reference)) ?? '';
  const digest = locked.slice(locked.lastIndexOf('@') + 1);
  if (isDigest(digest)) return digest;
  throw new FleetError('CHART_UNPINNED', `the chart ${chartKey(reference)} has no digest`, {
    hint: 'Run fleet-scheduler images lock, which writes the charts of images.lock.yaml too',
  });
};

const fetchVerified = async (
  fetch: FetchChart,
  reference: ChartReference,
  digest: Digest,
  signal: AbortSignal,
): Promise<Buffer> => {
  const bytes = Buffer.from(await fetch(reference, digest, signal));
  if (digestOf(bytes) === digest) return bytes;
  throw new FleetError(
    'DIGEST_MISMATCH',
    `the content fetched as ${chartKey(reference)} is not the chart with the digest in the lock file`,
    {
      hint: 'If the version was published again, inspect it, then lock it again: fleet-scheduler images lock --update',
    },
  );
};
