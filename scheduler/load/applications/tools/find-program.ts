import { access, constants } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** The first executable file with that name in the folders of a PATH. */
export const findProgram = async (name: string, path: string): Promise<string | undefined> => {
  for (const folder of path.split(delimiter).filter((one) => one !== '')) {
    const file = join(folder, name);
    const runs = await access(file, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (runs) return file;
  }
  return undefined;
};
