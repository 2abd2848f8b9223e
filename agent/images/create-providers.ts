import { registryOptions } from '#bundles/transport/registry/registry-access';
import { parseRegistryAddress } from '#bundles/transport/registry/registry-address';
import type { Config } from '../config/config.ts';
import { containerdProvider } from './containerd/containerd-provider.ts';
import { openCtr } from './containerd/open-ctr.ts';
import type { ImageProvider } from '../model/image-provider.ts';
import { registryProvider } from './registry/registry-provider.ts';

/**
 * Builds the configured image providers. Without any, the cluster has to pull its images.
 * @throws FleetError USAGE for an invalid address, PERMISSION or IO for a CA file that cannot be read
 */
export const createProviders = async (
  config: Config,
  env: NodeJS.ProcessEnv,
): Promise<readonly ImageProvider[]> => {
  const { containerd, imageFolder, imageRegistry } = config;
  const providers: ImageProvider[] = [];
  if (containerd !== '') {
    const socket = containerd.replace(/^unix:\/\//, '');
    providers.push(containerdProvider(socket, openCtr(socket, env)));
  }
  if (imageFolder !== '') {
    const { folderProvider } = await import('./folder/folder-provider.ts');
    providers.push(folderProvider(imageFolder));
  }
  if (imageRegistry !== '') {
    const { openRegistry } = await import('#bundles/transport/registry/open-registry');
    const registry = openRegistry(parseRegistryAddress(imageRegistry), registryOptions({ ...config, env }));
    providers.push(registryProvider(registry));
  }
  return providers;
};
