import { FleetError } from '#bundles/errors';
import type { RegistryOptions } from '#bundles/transport/registry/registry';
import { redactUrl } from '../../../model/repository-url.ts';
import { openAzure } from './azure.ts';
import { type Forge, TOKEN_VARIABLE } from './forge.ts';
import { openGitea } from './gitea.ts';
import { openGitHub } from './github.ts';
import { openGitLab } from './gitlab.ts';
import { type Place, placeOf } from './repository-place.ts';

export type ForgeOptions = {
  /** `--forge`: the kind of forge, with '=<API address>' if the address is not the default. */
  readonly forge: string | undefined;
  readonly connection: RegistryOptions;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
};

const KINDS = ['github', 'gitea', 'gitlab', 'azure'] as const;
type Kind = (typeof KINDS)[number];

const GITHUB = 'github.com';
const GITHUB_API = 'https://api.github.com';

/**
 * Opens the forge of a repository. @returns undefined without a token: then only the branch is pushed
 * @throws FleetError USAGE if the kind of forge or the address of its API is unknown
 */
export const chooseForge = (repo: string, options: ForgeOptions): Forge | undefined => {
  const place = placeOf(redactUrl(repo));
  const { kind, api } = readForge(options.forge, place, repo);
  // GITHUB_TOKEN is sent only to github.com.
  const own = place?.host === GITHUB && api === GITHUB_API ? options.env['GITHUB_TOKEN'] : undefined;
  const token = options.env[TOKEN_VARIABLE] || own;
  if (!token) return undefined;
  if (!place || !kind || api === undefined) {
    throw new FleetError('USAGE', `the kind of forge of ${redactUrl(repo)} is unknown`, {
      hint: 'Give --forge github, gitea, gitlab or azure, with =<address of its API> where that is not the usual one',
    });
  }
  const { connection, signal } = options;
  const access = { api, authorization: authorizationOf(kind, token), connection, signal };
  switch (kind) {
    case 'github':
      return openGitHub(access, lastTwo(place));
    case 'gitea':
      return openGitea(access, lastTwo(place));
    case 'gitlab':
      return openGitLab(access, belowApi(place, api));
    case 'azure':
      if (place.azure) return openAzure(access, place.azure);
      throw new FleetError('USAGE', `${redactUrl(repo)} is not the address of a repository in Azure DevOps`, {
        hint: 'It looks like https://dev.azure.com/<organization>/<project>/_git/<repository>',
      });
  }
};

const authorizationOf = (kind: Kind, token: string): string => {
  switch (kind) {
    case 'github':
    case 'gitlab':
      return `Bearer ${token}`;
    case 'gitea':
      return `token ${token}`;
    case 'azure':
      return `Basic ${Buffer.from(`:${token}`).toString('base64')}`;
  }
};

/** 'owner/name': the server may be below a path. */
const lastTwo = ({ segments }: Place): string => segments.slice(-2).join('/');

/** The project's path. The server may be below a path, which its API's address shows: https://host/path/api/v4. */
const belowApi = ({ segments }: Place, api: string): string => {
  const path = segments.join('/');
  const above = new URL(api).pathname.slice(1).replace(/\/?api\/v4$/, '');
  return above !== '' && path.startsWith(`${above}/`) ? path.slice(above.length + 1) : path;
};

const readForge = (
  text: string | undefined,
  place: Place | undefined,
  repo: string,
): { readonly kind: Kind | undefined; readonly api: string | undefined } => {
  if (text === undefined) {
    const known = place && knownKind(place);
    return { kind: known, api: known && defaultApi(known, place) };
  }
  const [word, ...rest] = text.split('=');
  const given = rest.length === 0 ? undefined : rest.join('=').replace(/\/+$/, '');
  const kind = KINDS.find((one) => one === word);
  if (kind === undefined || (given !== undefined && !isApi(given))) {
    throw new FleetError('USAGE', `${JSON.stringify(redactUrl(text))} is not a forge`, {
      subject: redactUrl(repo),
      hint: `Write ${KINDS.join(', ')}, or gitea=https://git.example/api/v1`,
    });
  }
  return { kind, api: given ?? (place && defaultApi(kind, place)) };
};

/** The public services. */
const knownKind = ({ host, azure }: Place): Kind | undefined => {
  if (host === GITHUB) return 'github';
  if (host === 'gitlab.com') return 'gitlab';
  const isAzure =
    host === 'dev.azure.com' || host === 'ssh.dev.azure.com' || host.endsWith('.visualstudio.com');
  return isAzure && azure ? 'azure' : undefined;
};

const defaultApi = (kind: Kind, { host, azure }: Place): string | undefined => {
  switch (kind) {
    case 'github':
      return host === GITHUB ? GITHUB_API : `https://${host}/api/v3`;
    case 'gitea':
      return `https://${host}/api/v1`;
    case 'gitlab':
      return `https://${host}/api/v4`;
    case 'azure':
      // Without a place the address is refused by the caller.
      return azure?.collection ?? `https://${host}`;
  }
};

/** Whether a text is an acceptable API address: https, or http on this machine, because the token is sent to it. */
const isApi = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return (
    protocol === 'https:' ||
    (protocol === 'http:' && /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname))
  );
};
