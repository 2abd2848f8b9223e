import { openRegistry } from '#bundles/transport/registry/open-registry';
import type { Registry, RegistryOptions } from '#bundles/transport/registry/registry';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { parseRegistryAddress } from '#bundles/transport/registry/registry-address';
import type { Config } from './config.ts';

/** Retries and timeouts of one request; omitted options have their defaults. */
export type Persistence = Pick<RegistryOptions, 'tries' | 'patience' | 'onWait'>;

/** Opens the configured registry; undefined if there is none. @throws FleetError USAGE, CONFIG_INVALID, PERMISSION */
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
