import { readFileSync } from 'node:fs';
import { FleetError, toFleetError } from '../../errors.ts';
import type { RegistryOptions } from './registry.ts';

/** How flags, environment and configuration say that registries are reached. For files, '' means not set. */
export type RegistryAccess = {
  /** 'host[:port]' that may be spoken to without TLS. */
  readonly plainHttp: readonly string[];
  /** PEM certificates beside the system's. */
  readonly caFile?: string | undefined;
  readonly authFile?: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly onWait?: RegistryOptions['onWait'];
};

/** @throws FleetError for a certificate file that cannot be read, and for FLEET_REGISTRY_TRIES or _DELAY that are no counts */
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
  tries: countIn(env, 'FLEET_REGISTRY_TRIES'),
  firstDelay: countIn(env, 'FLEET_REGISTRY_DELAY'),
  authFile: authFile === '' ? undefined : authFile,
  ca: caFile === undefined || caFile === '' ? undefined : readCertificates(caFile),
});

/** For lines that are worse than others, and for those where a failure must be reported at once. @throws FleetError CONFIG_INVALID */
const countIn = (env: NodeJS.ProcessEnv, name: string): number | undefined => {
  const text = env[name] ?? '';
  if (text === '') return undefined;
  if (/^[1-9][0-9]{0,4}$/.test(text)) return Number(text);
  throw new FleetError(
    'CONFIG_INVALID',
    `${name} is ${JSON.stringify(text.slice(0, 20))}, which is no count`,
    {
      hint: 'Give a whole number from 1 to 99999: of tries, or of milliseconds',
    },
  );
};

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
