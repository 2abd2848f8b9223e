import { FleetError } from '#bundles/errors';

/** Error for a medium without content of ours, or with the files of an interrupted run. */
export const emptyMediumError = (path: string): FleetError =>
  new FleetError('MEDIUM_EMPTY', `nothing was written to the medium ${path} yet`, {
    hint: 'If fleet-export create was interrupted, run it again: it continues where it stopped',
  });
