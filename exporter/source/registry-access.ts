import { readFile } from 'node:fs/promises';
import { toFleetError } from '#bundles/errors';
import type { RegistryOptions } from '#bundles/registry/registry';

/** How a person says that registries are reached. */
export type RegistryAccess = {
  /** 'host[:port]' that may be spoken to without TLS. */
  readonly plainHttp: readonly string[];
  readonly caFile: string | undefined;
  readonly authFile: string | undefined;
  readonly env: NodeJS.ProcessEnv;
};

/** @throws FleetError for a certificate file that cannot be read */
export const registryOptions = async ({
  plainHttp,
  caFile,
  authFile,
  env,
}: RegistryAccess): Promise<RegistryOptions> => {
  if (caFile === undefined) return { plainHttp, authFile, env };
  const ca = await readFile(caFile, 'utf8').catch((error: unknown) => {
    throw toFleetError(error, `reading ${caFile}`);
  });
  return { plainHttp, authFile, env, ca };
};
