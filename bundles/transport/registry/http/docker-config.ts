import { isRecord } from '../../../is-record.ts';
import { FleetError } from '../../../errors.ts';
import { parseStrictJson } from '../../../json/strict-json.ts';

/** Credentials for a registry. */
export type Credentials =
  | { readonly kind: 'basic'; readonly username: string; readonly password: string }
  /** Exchanged for tokens (docker's `identitytoken`, an OAuth2 refresh token). */
  | { readonly kind: 'identity'; readonly token: string }
  /** Sent as it is (docker's `registrytoken`). */
  | { readonly kind: 'bearer'; readonly token: string };

/** docker's config.json, podman's auth.json. */
export type DockerConfig = {
  /** Keys: 'host[:port][/namespace...]'. */
  readonly auths: ReadonlyMap<string, Credentials>;
  readonly credHelpers: ReadonlyMap<string, string>;
  readonly credsStore: string | undefined;
};

const MAX_BYTES = 1 << 20;

/** @throws FleetError CONFIG_INVALID, which quotes nothing of the file, because it contains secrets */
export const parseDockerConfig = (bytes: Uint8Array, file: string): DockerConfig => {
  let value: unknown;
  try {
    value = parseStrictJson(bytes, { maxBytes: MAX_BYTES });
  } catch {
    throw invalid(file, 'is not JSON');
  }
  if (!isRecord(value)) throw invalid(file, 'is not a JSON object');
  const { auths = {}, credHelpers = {}, credsStore } = value;
  if (!isRecord(auths) || !isRecord(credHelpers))
    throw invalid(file, 'has auths or credHelpers that are not objects');
  return {
    auths: new Map(
      Object.entries(auths).flatMap(([key, entry]) => {
        const credentials = isRecord(entry) ? credentialsOf(entry) : undefined;
        return credentials ? [[normalizeKey(key), credentials] as const] : [];
      }),
    ),
    credHelpers: new Map(
      Object.entries(credHelpers).flatMap(([key, name]) =>
        typeof name === 'string' && name ? [[normalizeKey(key), name] as const] : [],
      ),
    ),
    credsStore: typeof credsStore === 'string' && credsStore ? credsStore : undefined,
  };
};

/** Normalises a host. docker once wrote 'https://host/v1/', and docker.io has three names. */
const normalizeKey = (key: string): string => {
  const bare = key.replace(/^https?:\/\//, '');
  const name = bare === key ? key.replace(/\/$/, '') : (bare.split('/')[0] ?? '');
  return name.replace(/^(?:index|registry-1)\.docker\.io(?=\/|$)/, 'docker.io');
};

const credentialsOf = (entry: Record<string, unknown>): Credentials | undefined => {
  const text = (key: string): string => (typeof entry[key] === 'string' ? entry[key] : '');
  if (text('identitytoken')) return { kind: 'identity', token: text('identitytoken') };
  if (text('registrytoken')) return { kind: 'bearer', token: text('registrytoken') };
  const decoded = Buffer.from(text('auth'), 'base64').toString('utf8');
  const colon = decoded.indexOf(':');
  if (colon > 0) {
    // docker pads the password with NUL.
    const password = decoded.slice(colon + 1).replace(/\0+$/, '');
    return { kind: 'basic', username: decoded.slice(0, colon), password };
  }
  return text('username')
    ? { kind: 'basic', username: text('username'), password: text('password') }
    : undefined;
};

const invalid = (file: string, why: string): FleetError =>
  new FleetError('CONFIG_INVALID', `the auth file ${why}`, {
    at: { file },
    hint: 'Log in again with docker or podman, which writes it again',
  });
