import { open } from 'node:fs/promises';
import { refuseExposed } from '#bundles/trust/keys/check-private';
import { isExposed } from '#cli/keep-private';

/**
 * Reads a file whose mode gives no rights to other users. Returns undefined when the file is missing.
 * @param what for the message: 'the key of this agent'
 * @throws FleetError PERMISSION where others can read or change it; the system's error
 */
export const readPrivateFile = async (file: string, what: string): Promise<string | undefined> => {
  try {
    await using handle = await open(file, 'r');
    const stats = await handle.stat();
    if (isExposed(stats))
      refuseExposed(
        stats,
        file,
        what,
        'Run chmod 600 on it; if somebody may have read it, enrol again with an empty state directory',
      );
    return await handle.readFile('utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
};
