import { join } from 'node:path';
import { FleetError, isFleetError } from '../../../errors.ts';
import { readTrustedFile } from '../../../read-trusted-file.ts';
import { askCredentialHelper } from './credential-helper.ts';
import { type Credentials, type DockerConfig, parseDockerConfig } from './docker-config.ts';
import type { RegistryOptions } from '../registry.ts';

/**
 * Finds credentials for a repository in the first file that has some, in podman's order; undefined for none. The order within a file is
 * the host's credential helper, the longest key that is a prefix of 'host/namespace/repository', then the credential store.
 * @throws FleetError CONFIG_INVALID, PERMISSION, TOOL_MISSING, REGISTRY_DENIED
 */
export const findCredentials = async (
  host: string,
  repository: string,
  options: Pick<RegistryOptions, 'authFile' | 'env'>,
  signal?: AbortSignal,
): Promise<Credentials | undefined> => {
  for (const { file, required } of authFiles(options)) {
    const config = readConfig(file, required);
    const found = config && (await findIn(config, host, repository, options.env, signal));
    if (found) return found;
  }
  return undefined;
};

/** The auth files to read. A configured file must exist and is the only one. */
const authFiles = ({
  authFile,
  env,
}: Pick<RegistryOptions, 'authFile' | 'env'>): readonly {
  readonly file: string;
  readonly required: boolean;
}[] => {
  const named = authFile || env['REGISTRY_AUTH_FILE'];
  if (named) return [{ file: named, required: true }];
  const { XDG_RUNTIME_DIR: runtime, XDG_CONFIG_HOME: configuration, HOME: home, DOCKER_CONFIG: docker } = env;
  const settings = configuration || (home && join(home, '.config'));
  const dockerFolder = docker || (home && join(home, '.docker'));
  return [
    runtime && join(runtime, 'containers/auth.json'),
    settings && join(settings, 'containers/auth.json'),
    dockerFolder && join(dockerFolder, 'config.json'),
  ].flatMap((file) => (file ? [{ file, required: false }] : []));
};

const readConfig = (file: string, required: boolean): DockerConfig | undefined => {
  let bytes: Buffer;
  try {
    // It may name programs to run as credential helpers.
    bytes = readTrustedFile(file);
  } catch (cause) {
    if (isFleetError(cause)) throw cause;
    const { code } = cause as NodeJS.ErrnoException;
    const isAbsent = code === 'ENOENT' || code === 'ENOTDIR';
    if (isAbsent && !required) return undefined;
    throw new FleetError(
      isAbsent ? 'CONFIG_INVALID' : 'PERMISSION',
      isAbsent ? 'there is no such auth file' : `the auth file cannot be read (${code})`,
      { at: { file }, cause },
    );
  }
  return parseDockerConfig(bytes, file);
};

const findIn = async (
  config: DockerConfig,
  host: string,
  repository: string,
  env: NodeJS.ProcessEnv,
  signal: AbortSignal | undefined,
): Promise<Credentials | undefined> => {
  const helper = config.credHelpers.get(host);
  if (helper !== undefined) return askCredentialHelper(helper, host, env, signal);
  for (let key = `${host}/${repository}`; key; key = key.slice(0, Math.max(0, key.lastIndexOf('/')))) {
    const found = config.auths.get(key);
    if (found) return found;
  }
  return config.credsStore === undefined
    ? undefined
    : askCredentialHelper(config.credsStore, host, env, signal);
};
