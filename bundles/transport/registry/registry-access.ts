import { FleetError, toFleetError } from '../../errors.ts';
import { readTrustedFile } from '../../read-trusted-file.ts';
import type { RegistryOptions } from './registry.ts';

/** Access to registries from flags, environment and configuration. For files, '' means not set. */
export type RegistryAccess = {
  /** 'host[:port]' of registries without TLS. */
  readonly plainHttp: readonly string[];
  /** PEM certificates in addition to the system's. */
  readonly caFile?: string | undefined;
  readonly authFile?: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly onWait?: RegistryOptions['onWait'];
  readonly signal?: RegistryOptions['signal'];
};

/** @throws FleetError CONFIG_INVALID for an unreadable certificate file or an invalid FLEET_REGISTRY_TRIES or _DELAY */
export const registryOptions = ({
  plainHttp,
  caFile,
  authFile,
  env,
  onWait,
  signal,
}: RegistryAccess): RegistryOptions => ({
  plainHttp,
  env,
  onWait,
  signal,
  tries: countIn(env, 'FLEET_REGISTRY_TRIES'),
  firstDelay: countIn(env, 'FLEET_REGISTRY_DELAY'),
  authFile: authFile === '' ? undefined : authFile,
  ca: certificatesOf(caFile),
});

/** Retry settings for bad lines, and for scripts that need fast failures. @throws FleetError CONFIG_INVALID */
const countIn = (env: NodeJS.ProcessEnv, name: string): number | undefined => {
  const text = env[name] ?? '';
  if (text === '') return undefined;
  if (/^[1-9][0-9]{0,4}$/.test(text)) return Number(text);
  throw new FleetError(
    'CONFIG_INVALID',
    `${name} is ${JSON.stringify(text.slice(0, 20))}, which is not a count`,
    {
      hint: 'Use a whole number from 1 to 99999: of tries, or of milliseconds',
    },
  );
};

const MISTAKES: Readonly<Record<string, string>> = {
  ENOENT: 'there is no such file',
  ENOTDIR: 'there is no such file',
  EISDIR: 'this is a folder, not a file',
};

/** @returns undefined: no file is set @throws FleetError CONFIG_INVALID, PERMISSION, IO */
export const certificatesOf = (file: string | undefined): string | undefined => {
  if (file === undefined || file === '') return undefined;
  try {
    return readTrustedFile(file).toString('utf8');
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
