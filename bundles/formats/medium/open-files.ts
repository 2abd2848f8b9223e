import { isFleetError } from '../../errors.ts';
import type { OpenMedium, OpenOptions } from './medium.ts';
import { openPlainFiles } from './open-directory.ts';
import { openMedium, stoppedBy } from './open-medium.ts';
import { isFolder } from './plain-files.ts';

/**
 * Opens a medium for its requests and reports. Those are plain files, readable also when the parts are sealed to other
 * recipients; `medium` is then undefined, as for a medium that has not been filled.
 * @throws FleetError of openMedium, except MEDIUM_SEALED for a folder
 */
export const openFiles = async (path: string, options: OpenOptions = {}): Promise<OpenMedium> => {
  try {
    return await openMedium(path, options);
  } catch (error) {
    if (!isFleetError(error, 'MEDIUM_SEALED') || !(await isFolder(path))) throw error;
    return stoppedBy({ ...openPlainFiles(path), form: 'parts' }, options.signal);
  }
};
