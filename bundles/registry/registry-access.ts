import { readFileSync } from 'node:fs';
import { FleetError, toFleetError } from '../errors.ts';
import type { RegistryOptions } from './registry.ts';

/** How flags, environment and configuration say that registries are reached. Of files, '' is none too. */
export type RegistryAccess = {
  /** 'host[:port]' that may be spoken to without TLS. */
  readonly plainHttp: readonly string[];
  /** PEM certificates beside the system's. */
  readonly caFile?: string | undefined;
  readonly authFile?: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly onWait?: RegistryOptions['onWait'];
};

/** @throws FleetError for a certificate file that cannot be read */
export const registryOptions = ({
  plainHttp,
  caFile,
  authFile,
  env,
  onWait,
}: RegistryAccess): RegistryOptions => ({
  plainHttp,
  env,
  onWait,
  authFile: authFile === '' ? undefined : authFile,
  ca: caFile === undefined || caFile === '' ? undefined : readCertificates(caFile),
});

const MISTAKES: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'this is a folder, not a file',
};

const readCertificates = (file: string): string => {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== undefined && code in MISTAKES)
      throw new FleetError('CONFIG_INVALID', `${MISTAKES[code]} with certificates`, {
        at: { file },
        cause: error,
      });
    throw toFleetError(error, `reading the certificates ${file}`);
  }
};
