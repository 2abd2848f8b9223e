import { FleetError, isFleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { type Channel, formatChannel } from '#bundles/names';
import { DAY_MS, parseTime } from '#bundles/time';
import { readChain } from '#bundles/transport/publish/read-chain';
import type { TrustRoot } from '#bundles/trust/root/root';
import { readDocuments } from '../../load/releases/artifact.ts';
import { type StoredRelease, readRelease } from '../../load/releases/read-release.ts';
import { releaseReference } from '../../load/releases/references.ts';

/** How far the last release may be ahead of the clock, as in acceptance (docs/bundle-format.md section 8, step 4). */
const LEEWAY_MS = DAY_MS;

/**
 * Reads the current release of a channel, whose number the next one follows.
 * @returns undefined if the channel has none
 * @throws FleetError ROOT_BEHIND if it was made with a newer root than these; FROM_FUTURE if it is newer than the clock; MISSING_BLOB, DIGEST_MISMATCH, SIZE_MISMATCH, LAYOUT_INVALID,
 *   BAD_JSON with a hint to restore the layout; UNKNOWN_KEY, BAD_SIGNATURE, THRESHOLD, WRONG_CHANNEL, SCHEMA
 */
export const readPrevious = async (
  layout: Layout,
  channel: Channel,
  roots: readonly TrustRoot[],
  now: Date,
): Promise<StoredRelease | undefined> => {
  const previous = await readRelease(layout, channel, roots).catch(async (error: unknown) => {
    throw (await behind(layout, channel, roots)) ?? damaged(error, channel);
  });
  if (previous && previous.predicate.rootVersion > (roots.at(-1)?.version ?? 0))
    throw rootBehind(previous.predicate.rootVersion, channel, roots);
  if (!previous || parseTime(previous.predicate.issuedAt).getTime() <= now.getTime() + LEEWAY_MS)
    return previous;
  throw new FleetError(
    'FROM_FUTURE',
    `release ${previous.predicate.version} of ${formatChannel(channel)} was issued at ${previous.predicate.issuedAt}, which is in the future by the clock of this machine`,
    {
      subject: layout.directory,
      hint: 'Set the clock; a release made now would end too early. If this clock is right, the one of that machine was wrong: fleet-scheduler releases renew --anyway',
    },
  );
};

/**
 * The error of a key directory that is older than the layout, as after its restore: it lacks a root that the release came with, which
 * removed keys. undefined: it does not.
 */
const behind = async (
  layout: Layout,
  channel: Channel,
  roots: readonly TrustRoot[],
): Promise<FleetError | undefined> => {
  try {
    const documents = await readDocuments(layout, releaseReference(channel));
    const newest = (await readChain(layout.blobs, documents, roots)).at(-1);
    return newest && newest.version > (roots.at(-1)?.version ?? 0)
      ? rootBehind(newest.version, channel, roots)
      : undefined;
  } catch (error) {
    // What is wrong with the release is said.
    if (isFleetError(error)) return undefined;
    throw error;
  }
};

const rootBehind = (version: number, channel: Channel, roots: readonly TrustRoot[]): FleetError =>
  new FleetError(
    'ROOT_BEHIND',
    `the last release of ${formatChannel(channel)} was made with trust root ${version}, and the newest in the key directory is ${roots.at(-1)?.version ?? 'none'}`,
    {
      hint: 'The key directory is an older copy: install the newer roots, fleet-scheduler root install, and use the keys that they count',
    },
  );

/** Adds a hint to errors of a damaged layout: without the last release the next number is unknown. */
const damaged = (error: unknown, channel: Channel): unknown => {
  const lost = ['DIGEST_MISMATCH', 'SIZE_MISMATCH', 'MISSING_BLOB', 'LAYOUT_INVALID', 'BAD_JSON'];
  if (!(error instanceof FleetError && lost.includes(error.code))) return error;
  return new FleetError(error.code, error.message, {
    subject: `the last release of ${formatChannel(channel)}`,
    cause: error,
    hint: 'Restore the last copy of this layout, or of the blob',
  });
};
