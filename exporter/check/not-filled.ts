import { FleetError } from '#bundles/errors';

/** A folder with nothing of ours on it, or with what a run that was stopped has left there. */
export const notFilled = (path: string): FleetError =>
  new FleetError('MEDIUM_EMPTY', `nobody has filled the medium ${path} yet`, {
    hint: 'Was fleet-export create stopped? Run it again: it goes on where it stopped',
  });
