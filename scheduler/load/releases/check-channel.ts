import { FleetError } from '#bundles/errors';
import { type Channel, formatChannel } from '#bundles/names';

/** Checks that a statement is for the channel under whose name it is stored. @throws FleetError WRONG_CHANNEL */
export const checkChannel = (audience: Channel, channel: Channel, what: string): void => {
  if (formatChannel(audience) === formatChannel(channel)) return;
  throw new FleetError('WRONG_CHANNEL', `${what} is really of ${formatChannel(audience)}`);
};
