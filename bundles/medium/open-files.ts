import { isFleetError } from '../errors.ts';
import type { OpenMedium, OpenOptions } from './medium.ts';
import { openPlainFiles } from './open-directory.ts';
import { openMedium } from './open-medium.ts';
import { isFolder } from './plain-files.ts';

/**
 * A medium for the sake of the requests and reports on it: those are plain files of a stick, also where its parts are sealed to
 * others. Such a medium tells nothing of its content, as one that nobody has filled.
 * @throws FleetError as openMedium
 */
export const openFiles = async (path: string, options: OpenOptions = {}): Promise<OpenMedium> => {
  try {
    return await openMedium(path, options);
  } catch (error) {
    if (!isFleetError(error, 'MEDIUM_SEALED') || !(await isFolder(path))) throw error;
    return { ...openPlainFiles(path), form: 'parts' };
  }
};
