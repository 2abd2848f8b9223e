import { FleetError } from '#bundles/errors';

/** The run was asked to end. What is half done stands in the journal. */
export const aborted = (cause: unknown): FleetError =>
  new FleetError('ABORTED', 'stopped before the end', {
    cause,
    hint: 'The next command of this agent goes on from here',
  });
