import { FleetError } from '#bundles/errors';
import type { Agent } from '../store/agent.ts';

/** Checks that an operator may accept expired statements here. @param reason undefined: nobody asked for it @throws FleetError USAGE */
export const checkBreakGlass = ({ policy }: Agent, reason: string | undefined): void => {
  if (reason === undefined) return;
  if (!policy.breakGlass) {
    throw new FleetError('USAGE', 'this machine is not configured to accept expired statements', {
      subject: '--accept-expired',
      hint: 'Ask for a newer release or a lease; the owner of the machine may set breakGlass: true in its agent.yaml',
    });
  }
  if (reason.trim() === '') {
    throw new FleetError('USAGE', 'the reason is empty', {
      subject: '--reason',
      hint: 'Say in a few words why this cannot wait; the platform team reads them in the report',
    });
  }
};
