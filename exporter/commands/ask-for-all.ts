import { FleetError } from '#bundles/errors';
import { ask, canAsk } from '#cli/ask';
import type { OrderFlags } from './order-flags.ts';

/**
 * A medium with every channel tells each site what all the others run, so somebody says that it is meant.
 * @param isScript a script reads along: nobody is asked
 * @throws FleetError USAGE
 */
export const askForAll = async (
  { all, channel, site, from, to }: OrderFlags,
  isScript: boolean,
  signal: AbortSignal,
): Promise<void> => {
  if (all || channel || site) return;
  if (!isScript && canAsk()) {
    const question = `Put every channel of ${from} onto ${[to].flat().join(', ')}? [y/N] `;
    if (/^y(es)?$/i.test((await ask(question, { flag: '--all', signal })).trim())) return;
  }
  throw new FleetError('USAGE', 'it is not said what the medium is to carry', {
    hint: 'Name sites with --site or channels with --channel; --all takes every channel of the source',
  });
};
