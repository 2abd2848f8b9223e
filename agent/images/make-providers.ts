import { openRegistry } from '#bundles/registry/open-registry';
import { registryOptions } from '#bundles/registry/registry-access';
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
    const registry = openRegistry(parseRegistryAddress(imageRegistry), registryOptions({ ...config, env }));
    providers.push(registryProvider(registry));
  }
  return providers;
};
