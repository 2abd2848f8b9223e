import { openRegistry } from '#bundles/registry/open-registry';
import type { Registry, RegistryOptions } from '#bundles/registry/registry';
import { registryOptions } from '#bundles/registry/registry-access';
import { parseRegistryAddress } from '#bundles/registry/registry-address';
import type { Config } from '../config/config.ts';

/** How long one request is tried; what is not said is as usual. */
export type Persistence = Pick<RegistryOptions, 'tries' | 'patience'>;

/** The registry that the configuration names. @throws FleetError USAGE, CONFIG_INVALID, PERMISSION */
export const registryOf = (
  config: Config,
  env: NodeJS.ProcessEnv,
  persistence: Persistence = {},
): Registry | undefined =>
  config.registry === ''
    ? undefined
    : openRegistry(parseRegistryAddress(config.registry), {
        ...registryOptions({ ...config, env }),
        ...persistence,
      });
