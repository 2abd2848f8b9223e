import { readFile } from 'node:fs/promises';
import { toFleetError } from '#bundles/errors';
import type { RegistryOptions } from '#bundles/registry/registry';
import type { Configuration } from '../configuration.ts';

/** How the configuration says that registries are reached. @throws FleetError for a certificate file that cannot be read */
export const registryOptions = async (
  { plainHttp, caFile, authFile }: Pick<Configuration, 'plainHttp' | 'caFile' | 'authFile'>,
  env: NodeJS.ProcessEnv,
): Promise<RegistryOptions> => ({
  plainHttp,
  authFile,
  env,
  ca: caFile === undefined ? undefined : await readText(caFile),
});

const readText = (file: string): Promise<string> =>
  readFile(file, 'utf8').catch((error: unknown) => {
    throw toFleetError(error, `reading ${file}`);
  });
