import { FleetError } from '../../../errors.ts';
import { isStartFailure, runProcess } from '../../../run-process.ts';
import { withoutSecrets } from '../../../without-secrets.ts';
import type { Credentials } from './docker-config.ts';

const MAX_OUTPUT = 64 << 10;
const TIMEOUT_MS = 30_000;
/** User name by which helpers mark an identity token. */
const TOKEN_USER = '<token>';

/**
 * Asks docker-credential-<name> for a host's credentials; undefined if it has none. Its output is never printed, because it may contain
 * the credentials.
 * @throws FleetError TOOL_MISSING, REGISTRY_DENIED
 */
export const askCredentialHelper = async (
  name: string,
  host: string,
  env: NodeJS.ProcessEnv,
  signal?: AbortSignal,
): Promise<Credentials | undefined> => {
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name)) {
    throw new FleetError(
      'CONFIG_INVALID',
      `${JSON.stringify(name).slice(0, 80)} is not the name of a credential helper`,
    );
  }
  const program = `docker-credential-${name}`;
  // docker stores credentials of docker.io under a legacy address.
  const server = host === 'docker.io' ? 'https://index.docker.io/v1/' : host;
  const { code, endedBy, stopped, stdout } = await runProcess([program, 'get'], {
    env: withoutSecrets(env),
    signal,
    timeoutMs: TIMEOUT_MS,
    maxOutput: MAX_OUTPUT,
    input: [Buffer.from(`${server}\n`)],
  }).catch((cause: unknown) => {
    if (!isStartFailure(cause, 'ENOENT')) throw cause;
    throw new FleetError('TOOL_MISSING', `the auth file names ${program}, which is not in PATH`, {
      cause,
      hint: 'Install it, or log in again without a credential helper',
    });
  });
  const output = stdout.toString('utf8');
  if (code !== 0) {
    if (/not found/i.test(output)) return undefined;
    const end = stopped === 'timeout' ? 'no answer in 30 s' : (endedBy ?? code);
    throw new FleetError(
      'REGISTRY_DENIED',
      `${program} ended with ${end} when asked for the credentials of ${host}`,
      {
        hint: `Run 'echo ${server} | ${program} get' to see what it says`,
      },
    );
  }
  const credentials = parseAnswer(output);
  if (credentials === 'unreadable')
    throw new FleetError('REGISTRY_DENIED', `${program} did not answer with credentials`);
  return credentials;
};

const parseAnswer = (output: string): Credentials | undefined | 'unreadable' => {
  try {
    const { Username: username, Secret: secret } = JSON.parse(output) as Record<string, unknown>;
    if (typeof username !== 'string' || typeof secret !== 'string') return 'unreadable';
    if (!secret) return undefined;
    return username === TOKEN_USER
      ? { kind: 'identity', token: secret }
      : { kind: 'basic', username, password: secret };
  } catch {
    return 'unreadable';
  }
};
