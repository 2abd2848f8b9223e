import type { Descriptor } from '#bundles/formats/layout/manifest';
import { FleetError } from '#bundles/errors';
import { type Channel, formatChannel } from '#bundles/names';
import type { Releases } from '../write/open-releases.ts';
import { readPrevious } from '../write/read-previous.ts';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import { hasLease, renewLease } from './renew-lease.ts';

/**
 * Renews the leases of channels that already have one. A new release voids the lease of the release before it.
 * @returns by formatChannel, the channels whose lease could not be renewed and why; their releases are published and valid
 * @throws FleetError if the layout or the current release of a channel cannot be read
 */
export const followWithLeases = async (
  releases: Releases,
  keys: KeyDirectory,
  channels: readonly Channel[],
  now: Date,
): Promise<ReadonlyMap<string, FleetError>> => {
  const layout = await releases.open();
  const references = new Map<string, Descriptor>();
  const failed = new Map<string, FleetError>();
  for (const channel of channels.filter((one) => hasLease(layout, one))) {
    const release = await readPrevious(layout, channel, keys.roots, now);
    if (!release) continue;
    try {
      const renewed = await renewLease(layout, keys, { channel, release, now });
      for (const [reference, descriptor] of renewed.references) references.set(reference, descriptor);
    } catch (error) {
      if (!(error instanceof FleetError)) throw error;
      failed.set(formatChannel(channel), error);
    }
  }
  if (references.size > 0) await releases.point(references);
  return failed;
};
