import { closureBlobs } from '#bundles/bundle/closure-blobs';
import { readBundle } from '#bundles/bundle/read-bundle';
import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/layout/layout';
import { nameSome } from '#bundles/name-some';
import { type Channel, formatChannel } from '#bundles/names';
import type { Revocations } from '#bundles/statements/predicates';
import { readPrevious } from '../publish/read-previous.ts';
import type { PublishedRelease } from '../publish/read-release.ts';
import { readRevocations } from '../publish/revocation-list.ts';
import type { KeyDirectory } from '../sign/key-directory.ts';
import { bundlesOf } from './bundle-statements.ts';
import { listReleases } from './list-releases.ts';
import { type Reissued, reissueRelease } from './reissue-release.ts';

export type Rollback = {
  readonly channel: Channel;
  /** Number of the release whose bundles are to come back. */
  readonly to: number;
  /** What is revoked, where it is more than the layout says. */
  readonly revocations?: Revocations;
  readonly now: Date;
  readonly signal?: AbortSignal;
};

/**
 * A new release that names the bundles of an older one: numbers never go back, bundles may (attack table, M13).
 * @throws FleetError CHANNEL_MISSING, USAGE for the current one, RELEASE_MISSING naming those there are, REVOKED, MISSING_BLOB
 */
export const rollbackRelease = async (
  layout: Layout,
  keys: KeyDirectory,
  { channel, to, revocations, now, signal }: Rollback,
): Promise<Reissued> => {
  const previous = await readCurrent(layout, keys, channel, now);
  const releases = await listReleases(layout, channel, keys.roots);
  const name = formatChannel(channel);
  if (previous.predicate.version === to) {
    throw new FleetError('USAGE', `${name} is at release ${to}`, {
      hint: 'Name an older one; "releases list" shows them',
    });
  }
  const from = releases.find(({ release }) => release.predicate.version === to)?.release;
  if (!from) {
    const numbers = releases
      .filter(({ current, revoked }) => !current && revoked === undefined)
      .map(({ release }) => String(release.predicate.version));
    throw new FleetError('RELEASE_MISSING', `${layout.directory} has no release ${to} of ${name}`, {
      subject: name,
      hint: numbers.length > 0 ? `It can go back to ${nameSome(numbers)}` : 'It has none to go back to',
    });
  }
  await checkWhole(layout, from, signal);
  return reissueRelease(layout, keys, {
    channel,
    from,
    previous,
    revocations: revocations ?? (await readRevocations(layout, keys.root.fleet, channel, previous)),
    now,
  });
};

/** @throws FleetError CHANNEL_MISSING, and those of readPrevious */
export const readCurrent = async (
  layout: Layout,
  { roots }: KeyDirectory,
  channel: Channel,
  now: Date,
): Promise<PublishedRelease> => {
  const current = await readPrevious(layout, channel, roots, now);
  if (current) return current;
  throw new FleetError('CHANNEL_MISSING', `${layout.directory} has no release of ${formatChannel(channel)}`, {
    subject: formatChannel(channel),
    hint: 'Build one first',
  });
};

/** Nothing is released that could not be published. */
const checkWhole = async (layout: Layout, release: PublishedRelease, signal?: AbortSignal): Promise<void> => {
  for (const bundle of bundlesOf(release)) {
    const closure = await closureBlobs(layout.blobs, await readBundle(layout.blobs, bundle, signal), signal);
    for (const { digest, size } of closure) {
      const found = await layout.blobs.size(digest);
      if (found === size) continue;
      throw new FleetError(
        found === undefined ? 'MISSING_BLOB' : 'SIZE_MISMATCH',
        `${layout.directory} ${found === undefined ? 'lacks a blob' : 'has a damaged blob'} of release ${release.predicate.version}`,
        { subject: digest, hint: 'Put back a copy of it, or name another release' },
      );
    }
  }
};
