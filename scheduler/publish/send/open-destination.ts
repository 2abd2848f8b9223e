import { existsSync } from 'node:fs';
import { FleetError } from '#bundles/errors';
import type { Destination } from '#bundles/publish/destination';
import type { RegistryOptions } from '#bundles/registry/registry';
import { parseRegistryAddress } from '#bundles/registry/registry-address';
import { openLayoutDestination } from './layout-destination.ts';
import { looksLikeRegistry } from './looks-like-registry.ts';

/**
 * Where `publish` goes: a registry ('oci://host[:port]/prefix') or another layout directory.
 * @throws FleetError USAGE; BUSY where another program writes to the directory
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
  // The HTTP client takes longer to load than all the rest.
  const { openRegistry } = await import('#bundles/registry/open-registry');
  const registry = openRegistry(parseRegistryAddress(where), options);
  return {
    name: where,
    repository: registry.repository,
    hasReferrers: true,
    [Symbol.asyncDispose]: () => registry[Symbol.asyncDispose](),
  };
};

/** A folder named like a registry would take everything, and sites would wait for ever. */
const hasNoScheme = (where: string): FleetError =>
  new FleetError('USAGE', `${JSON.stringify(where)} looks like a registry, but does not begin with oci://`, {
    hint: `Write oci://${where}, or ./${where} for a folder of this name`,
  });
