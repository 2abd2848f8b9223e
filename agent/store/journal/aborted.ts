import { FleetError } from '#bundles/errors';

/** The error for a run that a signal ended. The journal has the unfinished operation. */
export const aborted = (cause: unknown): FleetError =>
  new FleetError('ABORTED', 'stopped before the end', {
    cause,
    hint: 'The next command of this agent resumes',
  });
