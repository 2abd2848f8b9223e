import { FleetError } from '#bundles/errors';
import { type RegistryAccess, registryOptions } from '#bundles/registry/registry-access';
import { compileLate } from '../compile-late.ts';
import { openLayoutSource } from './layout-source.ts';
import type { Source } from './source.ts';

const NO_ACCESS: RegistryAccess = { plainHttp: [], caFile: undefined, authFile: undefined, env: {} };

/**
 * A registry ('oci://host[:port]/prefix') or a layout directory.
 * @throws FleetError USAGE, MEDIUM_MISSING, LAYOUT_INVALID
 */
export const openSource = async (where: string, access: RegistryAccess = NO_ACCESS): Promise<Source> => {
  if (where.startsWith('oci://')) {
    // The HTTP client takes longer to load than a small layout to read.
    const { openRegistrySource } = await import('./registry-source.ts');
    compileLate();
    return openRegistrySource(where, registryOptions(access));
  }
  if (!/^[a-z]+:\/\//.test(where)) return openLayoutSource(where);
  throw new FleetError('USAGE', `--from ${where} is an address, but not of a registry`, {
    hint: 'Give oci://host/prefix, or the folder that fleet-scheduler build wrote',
  });
};
