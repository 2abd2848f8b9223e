import { FleetError } from '../../errors.ts';
import { parseImageName, repositoryOf } from '../../formats/bundle/image-name.ts';
import { isRepositoryName } from './registry-address.ts';

/**
 * The path of an image 'host[:port]/repo@...' below the site's registry: 'host[_port]/repo'. One rule for each host then maps all of its
 * images (containerd hosts.toml with override_path, CRI-O and podman registries.conf with location). Host names have no underscore and
 * repository names no colon.
 * @throws FleetError IMAGE_REFUSED for a host that cannot be part of a path
 */
export const mirrorPath = (name: string): string => {
  const image = parseImageName(name);
  const path = image && repositoryOf({ ...image, host: image.host.replace(':', '_') });
  if (path !== undefined && isRepositoryName(path)) return path;
  throw new FleetError(
    'IMAGE_REFUSED',
    `${name} cannot be stored in a registry: its host or path is not valid there`,
  );
};
