import { readFile } from 'node:fs/promises';
import { toFleetError } from '#bundles/errors';
import { openRegistry } from '#bundles/registry/open-registry';
import { parseRegistryAddress } from '#bundles/registry/registry-address';
import type { Config } from '../config/config.ts';
import { containerdProvider } from './containerd/containerd-provider.ts';
import { openCtr } from './containerd/open-ctr.ts';
import type { ImageProvider } from './image-provider.ts';
import { registryProvider } from './registry/registry-provider.ts';

/**
 * The providers that the configuration names; none: nothing here keeps images, and the cluster has to get them by itself.
 * @throws FleetError USAGE for an address that is none, PERMISSION or IO for a CA file that cannot be read
 */
export const makeProviders = async (
  config: Config,
  env: NodeJS.ProcessEnv,
): Promise<readonly ImageProvider[]> => {
  const { containerd, imageRegistry } = config;
  const providers: ImageProvider[] = [];
  if (containerd !== '') {
    const socket = containerd.replace(/^unix:\/\//, '');
    providers.push(containerdProvider(socket, openCtr(socket, env)));
  }
  if (imageRegistry !== '') {
    const registry = openRegistry(parseRegistryAddress(imageRegistry), {
      plainHttp: config.plainHttp,
      ca: config.caFile === '' ? undefined : await readCa(config.caFile),
      authFile: config.authFile === '' ? undefined : config.authFile,
      env,
    });
    providers.push(registryProvider(registry));
  }
  return providers;
};

const readCa = async (file: string): Promise<string> => {
  try {
    return await readFile(file, 'utf8');
  } catch (error) {
    throw toFleetError(error, `reading the CA file ${file}`);
  }
};
