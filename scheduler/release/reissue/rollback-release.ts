import { defined } from '#bundles/defined';
import { closureBlobs } from '#bundles/formats/bundle/closure-blobs';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { nameSome } from '#bundles/name-some';
import { didYouMean } from '#bundles/nearest-name';
import { type Channel, formatChannel } from '#bundles/names';
import { channelsIn } from '#bundles/transport/publish/choose-pointers';
import type { Revocations } from '#bundles/formats/statements/predicates';
import { readPrevious } from '../write/read-previous.ts';
import { checkRelease } from '../../load/releases/check-promoted.ts';
import { bundlesOf, type StoredRelease } from '../../load/releases/read-release.ts';
import { readRevocations } from '../../load/releases/revocation-list.ts';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import { listReleases } from './list-releases.ts';
import { type Reissued, reissueRelease } from './reissue-release.ts';

export type Rollback = {
  readonly channel: Channel;
  /** Number of the release to return to. */
  readonly to: number;
  /** Revocations that include entries not yet in the layout. Default: the revocations of the layout. */
  readonly revocations?: Revocations;
  readonly now: Date;
  readonly signal?: AbortSignal;
};

/**
 * Signs a new release that names the bundles of an older one: release numbers only increase, bundles may return (attack
 * table, M13).
 * @throws FleetError CHANNEL_MISSING; USAGE if `to` is the current release; RELEASE_MISSING, listing the releases available;
 *   REVOKED; NOT_PROMOTED; MISSING_BLOB, SIZE_MISMATCH if a blob of the older bundles is missing or damaged; KEY_MISSING, THRESHOLD
 */
export const rollbackRelease = async (
  layout: Layout,
  keys: KeyDirectory,
  { channel, to, revocations, now, signal }: Rollback,
): Promise<Reissued> => {
  const { previous, from } = await chooseRelease(
    layout,
    keys,
    defined({
      channel,
      to,
      now,
      signal,
    }),
  );
  return reissueRelease(layout, keys, {
    channel,
    from,
    previous,
    revocations: revocations ?? (await readRevocations(layout, keys.roots, channel, previous)),
    now,
  });
};

/**
 * Returns the release to return to, complete and permitted, and the current one. Signs nothing.
 * @throws FleetError CHANNEL_MISSING, USAGE, RELEASE_MISSING, NOT_PROMOTED, MISSING_BLOB, SIZE_MISMATCH
 */
export const chooseRelease = async (
  layout: Layout,
  keys: KeyDirectory,
  { channel, to, now, signal }: Omit<Rollback, 'revocations'>,
): Promise<{ readonly previous: StoredRelease; readonly from: StoredRelease }> => {
  const previous = await readCurrent(layout, keys, channel, now);
  const name = formatChannel(channel);
  if (previous.predicate.version === to) {
    throw new FleetError('USAGE', `${name} is at release ${to}`, {
      hint: 'Name an older one; "releases list" shows them',
    });
  }
  const from = await findRelease(layout, keys, channel, to);
  await checkRelease(layout, channel, from, keys.roots);
  await checkWhole(layout, from, signal);
  return { previous, from };
};

/** The release of a channel with this number. @throws FleetError RELEASE_MISSING, listing the releases available */
export const findRelease = async (
  layout: Layout,
  keys: KeyDirectory,
  channel: Channel,
  version: number,
): Promise<StoredRelease> => {
  const releases = await listReleases(layout, channel, keys.roots);
  const found = releases.find(({ release }) => release.predicate.version === version)?.release;
  if (found) return found;
  const numbers = releases
    .filter(({ current, revoked }) => !current && revoked === undefined)
    .map(({ release }) => String(release.predicate.version));
  const name = formatChannel(channel);
  throw new FleetError('RELEASE_MISSING', `${layout.directory} has no release ${version} of ${name}`, {
    subject: name,
    hint: numbers.length > 0 ? `A rollback is possible to ${nameSome(numbers)}` : 'It has no earlier release',
  });
};

/** The current release of a channel. @throws FleetError CHANNEL_MISSING, FROM_FUTURE, MISSING_BLOB, DIGEST_MISMATCH, SCHEMA */
export const readCurrent = async (
  layout: Layout,
  { roots }: KeyDirectory,
  channel: Channel,
  now: Date,
): Promise<StoredRelease> => {
  const current = await readPrevious(layout, channel, roots, now);
  if (current) return current;
  const [name, known] = [formatChannel(channel), channelsIn(layout)];
  throw new FleetError('CHANNEL_MISSING', `${layout.directory} has no release of ${name}`, {
    subject: name,
    hint:
      known.length === 0 ? 'Build one first' : `${didYouMean(name, known) ?? ''}It has ${nameSome(known)}`,
  });
};

/** Checks that every blob of the release's bundles is in the layout, so that it can be published. */
const checkWhole = async (layout: Layout, release: StoredRelease, signal?: AbortSignal): Promise<void> => {
  for (const bundle of bundlesOf(release)) {
    const closure = await closureBlobs(layout.blobs, await readBundle(layout.blobs, bundle, signal), signal);
    for (const { digest, size } of closure) {
      const found = await layout.blobs.size(digest);
      if (found === size) continue;
      throw new FleetError(
        found === undefined ? 'MISSING_BLOB' : 'SIZE_MISMATCH',
        `${layout.directory} ${found === undefined ? 'lacks a blob' : 'has a damaged blob'} of release ${release.predicate.version}`,
        { subject: digest, hint: 'Restore a copy of it, or name another release' },
      );
    }
  }
};
