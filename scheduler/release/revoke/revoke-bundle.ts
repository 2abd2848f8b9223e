import { defined } from '#bundles/defined';
import { bundlesOf } from '../../load/releases/read-release.ts';
import type { Descriptor } from '#bundles/formats/layout/manifest';
import { type Digest, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { type Channel, formatChannel } from '#bundles/names';
import { formatTime } from '#bundles/time';
import { listOf, noteRevocations, readRevocations } from '../../load/releases/revocation-list.ts';
import { checkReason } from '../audit/decide.ts';
import { reissueRelease } from '../reissue/reissue-release.ts';
import { readCurrent, rollbackRelease } from '../reissue/rollback-release.ts';
import type { KeyDirectory } from '../../keys/key-directory.ts';

export type Revocation = {
  readonly channel: Channel;
  readonly bundle: Digest;
  /** 1 to 1000 characters, published in the revocation list. */
  readonly reason: string;
  /** Replacement of the bundle; required if the current release names it. */
  readonly instead: { readonly to: number } | 'next build' | undefined;
  readonly now: Date;
  readonly signal?: AbortSignal;
};

export type Revocated = {
  readonly news: 'revoked' | 'known';
  /** The release that carries the revocation to the sites; undefined: the next build will. */
  readonly version: number | undefined;
  readonly references: ReadonlyMap<string, Descriptor>;
};

/**
 * Revokes a bundle permanently. It is added to the channel's revocation list, which every later release carries and from which
 * sites never remove an entry. Unless `instead` is 'next build', the release that carries the list is signed by this call.
 * @throws FleetError USAGE for an invalid reason, or if the current release names the bundle and `instead` is undefined;
 *   CHANNEL_MISSING, RELEASE_MISSING; REVOKED if the release to return to is itself revoked; KEY_MISSING, THRESHOLD
 */
export const revokeBundle = async (
  layout: Layout,
  keys: KeyDirectory,
  { channel, bundle, reason, instead, now, signal }: Revocation,
): Promise<Revocated> => {
  checkReason(reason);
  const { fleet } = keys.root;
  const current = await readCurrent(layout, keys, channel, now);
  const before = await readRevocations(layout, keys.roots, channel, current);
  const list = listOf(fleet, channel, [...before.revoked, { digest: bundle, reason, at: formatTime(now) }]);
  const noted = await noteRevocations(layout, channel, list);
  const news = list.revoked.length > before.revoked.length ? 'revoked' : 'known';
  if (bundlesOf(current).includes(bundle)) {
    if (instead === undefined) throw stillReleased(channel, bundle, current.predicate.version);
    if (instead === 'next build') return { news, version: undefined, references: noted };
    const { to } = instead;
    const back = await rollbackRelease(
      layout,
      keys,
      defined({
        channel,
        to,
        revocations: list,
        now,
        signal,
      }),
    );
    return { news, version: back.version, references: new Map([...noted, ...back.references]) };
  }
  const released = await readRevocations(layout, keys.roots, channel, current, 'released');
  if (released.revoked.some(({ digest }) => digest === bundle))
    return { news, version: current.predicate.version, references: noted };
  const next = await reissueRelease(layout, keys, {
    channel,
    from: current,
    previous: current,
    revocations: list,
    now,
  });
  return { news, version: next.version, references: new Map([...noted, ...next.references]) };
};

const stillReleased = (channel: Channel, bundle: Digest, version: number): FleetError =>
  new FleetError(
    'USAGE',
    `release ${version} of ${formatChannel(channel)}, the current one, names bundle ${shortDigest(bundle)}`,
    {
      hint: 'Name its replacement: --to <number of an older release>, or --with-next-build; "releases list" shows the numbers',
    },
  );
