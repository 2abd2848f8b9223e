import { defined } from '#bundles/defined';
import { bundlesOf } from '../../load/releases/read-release.ts';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import { channelsIn } from '#bundles/transport/publish/choose-pointers';
import { FleetError } from '#bundles/errors';
import { formatChannel, parseChannel } from '#bundles/names';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import { readBase } from '../../load/releases/read-base.ts';
import { followWithLeases } from '../../release/lease/follow-with-leases.ts';
import type { Releases } from '../../release/write/open-releases.ts';
import { readPrevious } from '../../release/write/read-previous.ts';
import type { ChannelOutcome } from '../channel-outcome.ts';
import { renewRelease } from '../../release/reissue/renew-release.ts';

/**
 * Renews the due releases of an environment that is not built, so that running releases do not expire while a promotion is
 * pending.
 * @returns an outcome for each channel with a release
 */
export const keepReleases = async (
  releases: Releases,
  environment: string,
  { keys, now, signal }: { readonly keys: KeyDirectory; readonly now: Date; readonly signal: AbortSignal },
): Promise<readonly ChannelOutcome[]> => {
  const layout = await releases.open();
  const channels = channelsIn(layout)
    .map(parseChannel)
    .filter((channel) => channel.environment === environment);
  const outcomes: ChannelOutcome[] = [];
  for (const channel of channels) {
    signal.throwIfAborted();
    const previous = await readPrevious(layout, channel, keys.roots, now);
    const [bundle] = previous ? bundlesOf(previous) : [];
    if (!previous || bundle === undefined) continue;
    const { unread } = await readBase(layout, channel, keys.roots, previous);
    const config = unread ? undefined : (await readBundle(layout.blobs, bundle, signal)).config;
    const kept = {
      ...channel,
      bundle,
      assignments: config?.assignments.length ?? 0,
      held: [],
      removals: [],
      unmeant: [],
      restored: 0,
      ...defined({ unread }),
    };
    if (unread) {
      outcomes.push({ ...kept, outcome: 'unchanged', version: previous.predicate.version });
      continue;
    }
    try {
      const { outcome, version, references } = await renewRelease(layout, keys, { channel, previous, now });
      if (references.size > 0) await releases.point(references);
      outcomes.push({ ...kept, outcome: outcome === 'renewed' ? 'renewed' : 'unchanged', version });
    } catch (error) {
      if (!(error instanceof FleetError) || error.exitCode === 1) throw error;
      outcomes.push({ ...kept, outcome: 'unchanged', version: previous.predicate.version, fault: error });
    }
  }
  const voided = await followWithLeases(releases, keys, channels, now);
  return outcomes.map((outcome) => {
    const leaseVoid = voided.get(formatChannel(outcome));
    return leaseVoid ? { ...outcome, leaseVoid } : outcome;
  });
};
