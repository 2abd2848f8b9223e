import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Records in node_modules that this process runs from there, until it is disposed of. test/harness/install.sh then refuses to install
 * other packages, which would delete them under the running tests.
 */
export const markInUse = async (repository: string): Promise<AsyncDisposable> => {
  const file = join(repository, 'node_modules/.in-use');
  const own = `${process.pid}\n`;
  await writeFile(file, own);
  return {
    [Symbol.asyncDispose]: async () => {
      const found = await readFile(file, 'utf8').catch(() => undefined);
      if (found === own) await rm(file);
    },
  };
};
