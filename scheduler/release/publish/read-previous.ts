import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { type Channel, formatChannel } from '#bundles/names';
import { DAY_MS, parseTime } from '#bundles/time';
import type { TrustRoot } from '#bundles/trust/root/root';
import { type PublishedRelease, readRelease } from '../../load/releases/read-release.ts';

/** How far the last release may be ahead of the clock, as in acceptance (docs/bundle-format.md section 8, step 4). */
const LEEWAY_MS = DAY_MS;

/**
 * Reads the current release of a channel, whose number the next one follows.
 * @returns undefined if the channel has none
 * @throws FleetError FROM_FUTURE if it is newer than the clock; MISSING_BLOB, DIGEST_MISMATCH, SIZE_MISMATCH, LAYOUT_INVALID,
 *   BAD_JSON with a hint to restore the layout; UNKNOWN_KEY, BAD_SIGNATURE, THRESHOLD, WRONG_CHANNEL, SCHEMA
 */
export const readPrevious = async (
  layout: Layout,
  channel: Channel,
  roots: readonly TrustRoot[],
  now: Date,
): Promise<PublishedRelease | undefined> => {
  const previous = await readRelease(layout, channel, roots).catch((error: unknown) => {
    throw damaged(error, channel);
  });
  if (!previous || parseTime(previous.predicate.issuedAt).getTime() <= now.getTime() + LEEWAY_MS)
    return previous;
  throw new FleetError(
    'FROM_FUTURE',
    `release ${previous.predicate.version} of ${formatChannel(channel)} was issued at ${previous.predicate.issuedAt}, which is in the future by the clock of this machine`,
    { subject: layout.directory, hint: 'Set the clock; a release made now would end too early' },
  );
};

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
