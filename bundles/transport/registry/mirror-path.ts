import { FleetError } from '../../errors.ts';
import { parseImageName, repositoryOf } from '../../formats/bundle/image-name.ts';
import { isRepositoryName } from './registry-address.ts';

/**
 * Where an image 'host[:port]/repo@...' lies below the site's registry: 'host[_port]/repo'. So one rule a host lets a
 * cluster find all of them (containerd hosts.toml with override_path, CRI-O and podman registries.conf with location).
 * An underscore cannot be in a host's name, and a colon not in a repository's.
 * @throws FleetError IMAGE_REFUSED for a host that cannot be part of a path
 */
export const mirrorPath = (name: string): string => {
  const image = parseImageName(name);
  const path = image && repositoryOf({ ...image, host: image.host.replace(':', '_') });
  if (path !== undefined && isRepositoryName(path)) return path;
  throw new FleetError(
    'IMAGE_REFUSED',
    `${name} has no place in a registry: its host or path cannot be part of one`,
  );
};
