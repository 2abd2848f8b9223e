import { FleetError } from '#bundles/errors';
import { openOrStartLayout } from '#bundles/layout/layout';
import { nameSome } from '#bundles/name-some';
import { type Channel, formatChannel } from '#bundles/names';
import { didYouMean } from '#bundles/nearest-name';
import { channelsIn } from '#bundles/publish/choose-pointers';

/** Channels that have a release in the layout, by formatChannel. */
export const readReleased = async (layout: string): Promise<readonly string[]> =>
  channelsIn(await openOrStartLayout(layout));

/**
 * An agent that follows a channel nobody releases to gets nothing, and reports nothing wrong. Before the first release of a fleet every
 * channel is taken.
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
