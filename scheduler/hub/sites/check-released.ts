import { FleetError } from '#bundles/errors';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { nameSome } from '#bundles/name-some';
import { type Channel, formatChannel } from '#bundles/names';
import { didYouMean } from '#bundles/nearest-name';
import { channelsIn } from '#bundles/transport/publish/choose-pointers';

/** Channels with a release in the layout, by formatChannel. */
export const readReleased = async (layout: string): Promise<readonly string[]> =>
  channelsIn(await openOrStartLayout(layout));

/**
 * Rejects a channel without a release: an agent that follows it would receive nothing and report no error. Before the first
 * release of a fleet every channel is accepted.
 * @throws FleetError CHANNEL_MISSING
 */
export const checkReleased = (channel: Channel, released: readonly string[]): void => {
  const name = formatChannel(channel);
  if (released.length === 0 || released.includes(name)) return;
  throw new FleetError('CHANNEL_MISSING', `there is no release of ${name}`, {
    subject: name,
    hint: `${didYouMean(name, released) ?? ''}There are releases of ${nameSome(released)}. Name one of them, or let the office take the other with --allow-unreleased`,
  });
};
