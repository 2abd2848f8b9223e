import { FleetError } from '#bundles/errors';
import { type Channel, formatChannel } from '#bundles/names';

/** A statement lies under the name of the channel that it is about. @throws FleetError WRONG_CHANNEL */
export const checkChannel = (audience: Channel, channel: Channel, what: string): void => {
  if (formatChannel(audience) === formatChannel(channel)) return;
  throw new FleetError('WRONG_CHANNEL', `${what} is really of ${formatChannel(audience)}`);
};
