import type { Descriptor } from '#bundles/bundle/manifest';
import { FleetError } from '#bundles/errors';
import { type Channel, formatChannel } from '#bundles/names';
import type { Releases } from '../publish/open-releases.ts';
import { readPrevious } from '../publish/read-previous.ts';
import type { KeyDirectory } from '../sign/key-directory.ts';
import { hasLease, renewLease } from './renew-lease.ts';

/**
 * A new release makes the lease of the one before void, so a channel that has a lease gets the next one right after.
 * @returns by channel, why its lease stays void: the release is out, and good without it
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
