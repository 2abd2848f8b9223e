import { existsSync } from 'node:fs';
import { FleetError } from '#bundles/errors';
import type { Destination } from '#bundles/transport/publish/destination';
import type { RegistryOptions } from '#bundles/transport/registry/registry';
import { parseRegistryAddress } from '#bundles/transport/registry/registry-address';
import { openLayoutDestination } from './layout-destination.ts';
import { looksLikeRegistry } from './looks-like-registry.ts';

/**
 * Opens the destination of `publish`: a registry ('oci://host[:port]/prefix') or another layout directory.
 * @throws FleetError USAGE; BUSY if another process writes to the directory
 */
export const openDestination = async (
  where: string,
  options: RegistryOptions,
  now: Date,
): Promise<Destination> => {
  if (!where.includes('://')) {
    if (looksLikeRegistry(where) && !existsSync(where)) throw hasNoScheme(where);
    return openLayoutDestination(where, now);
  }
  // Imported on demand: the HTTP client takes longer to load than everything else.
  const { openRegistry } = await import('#bundles/transport/registry/open-registry');
  const registry = openRegistry(parseRegistryAddress(where), options);
  return {
    name: where,
    repository: registry.repository,
    hasReferrers: true,
    [Symbol.asyncDispose]: () => registry[Symbol.asyncDispose](),
  };
};

/** Without this error the releases would be written to a folder named like the registry, and sites would never get them. */
const hasNoScheme = (where: string): FleetError =>
  new FleetError('USAGE', `${JSON.stringify(where)} looks like a registry, but does not begin with oci://`, {
    hint: `Write oci://${where}, or ./${where} for a folder of this name`,
  });
