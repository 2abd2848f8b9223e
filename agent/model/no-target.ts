import { FleetError } from '#bundles/errors';
import type { Target } from './target.ts';

/** The error for a bundle or package of a kind that this agent has no target for. @param what it is, for the message */
export const noTarget = (what: string, kind: Target['kind'] | undefined, subject: string): FleetError =>
  new FleetError(
    'NO_TARGET',
    `${what} is for a ${kind === 'host' ? 'host' : 'cluster'}, and this agent manages none`,
    {
      subject,
      hint: `If this is the machine for it, name ${kind} under targets in the configuration of the agent`,
    },
  );
