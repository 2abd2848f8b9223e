import { readFileSync } from 'node:fs';
import { toFleetError } from '#bundles/errors';
import { openRegistry } from '#bundles/registry/open-registry';
import type { Registry } from '#bundles/registry/registry';
import { parseRegistryAddress } from '#bundles/registry/registry-address';
import type { Config } from '../config/config.ts';

/** The registry that the configuration names. @throws FleetError USAGE, CONFIG_INVALID, PERMISSION */
export const registryOf = (config: Config, env: NodeJS.ProcessEnv): Registry | undefined => {
  if (config.registry === '') return undefined;
  const { plainHttp, caFile, authFile } = config;
  return openRegistry(parseRegistryAddress(config.registry), {
    plainHttp,
    ...(caFile === '' ? {} : { ca: readCertificates(caFile) }),
    ...(authFile === '' ? {} : { authFile }),
    env,
  });
};

const readCertificates = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw toFleetError(error, `reading the certificates ${file}`);
  }
};
