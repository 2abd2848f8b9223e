import { FleetError } from '#bundles/errors';
import { ask, canAsk } from '#cli/ask';
import type { ExportFlags } from './export-flags.ts';

/**
 * Asks before a medium carries every channel, because it shows each site what all others run.
 * @param isScript true with --json: do not ask
 * @throws FleetError USAGE
 */
export const askForAll = async (
  { all, channel, site, from, to }: ExportFlags,
  isScript: boolean,
  signal: AbortSignal,
): Promise<void> => {
  if (all || channel || site) return;
  if (!isScript && canAsk()) {
    const question = `Put every channel of ${from} onto ${[to].flat().join(', ')}? [y/N] `;
    if (/^y(es)?$/i.test((await ask(question, { flag: '--all', signal })).trim())) return;
  }
  throw new FleetError('USAGE', 'neither --site, --channel nor --all is given', {
    hint: 'Name sites with --site or channels with --channel; --all takes every channel of the source',
  });
};
