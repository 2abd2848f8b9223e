import { FleetError } from '#bundles/errors';
import type { RegistryOptions } from '#bundles/transport/registry/registry';
import { redactUrl } from '../../../model/repository-url.ts';
import { type Forge, TOKEN_VARIABLE } from './forge.ts';
import { openGitea } from './gitea.ts';
import { openGitHub } from './github.ts';

export type ForgeOptions = {
  /** `--forge`: 'github' or 'gitea', with '=<API address>' if the address is not the default. */
  readonly forge: string | undefined;
  readonly connection: RegistryOptions;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
};

const GITHUB = 'github.com';
const GITHUB_API = 'https://api.github.com';

/**
 * Opens the forge of a repository. @returns undefined without a token: then only the branch is pushed
 * @throws FleetError USAGE if the kind of forge or the address of its API is unknown
 */
export const chooseForge = (repo: string, options: ForgeOptions): Forge | undefined => {
  const place = placeOf(repo);
  const { kind, api } = readForge(options.forge, place, repo);
  // GITHUB_TOKEN is sent only to github.com.
  const own = place?.host === GITHUB && api === GITHUB_API ? options.env['GITHUB_TOKEN'] : undefined;
  const token = options.env[TOKEN_VARIABLE] || own;
  if (!token) return undefined;
  if (!place || !kind || api === undefined) {
    throw new FleetError('USAGE', `it is not known what serves ${redactUrl(repo)}`, {
      hint: 'Give --forge github or --forge gitea, with =<address of its API> where that is not the usual one',
    });
  }
  const { connection, signal } = options;
  const scheme = kind === 'github' ? 'Bearer' : 'token';
  const access = { api, authorization: `${scheme} ${token}`, connection, signal };
  return kind === 'github' ? openGitHub(access, place.repository) : openGitea(access, place.repository);
};

type Place = { readonly host: string; readonly repository: string };

/** Host and 'owner/name' of a URL or of user@host:owner/name. */
const placeOf = (repo: string): Place | undefined => {
  const plain = redactUrl(repo);
  const match =
    /^[a-z][a-z0-9+.-]*:\/\/([^/:]+)(?::\d+)?\/(?:.*\/)?([^/]+\/[^/]+?)(?:\.git)?\/*$/i.exec(plain) ??
    /^(?:[^\s/@]+@)?([^\s/:]+):(?!\/\/)(?:.*\/)?([^/]+\/[^/]+?)(?:\.git)?\/*$/.exec(plain);
  const [, host, repository] = match ?? [];
  return host && repository ? { host: host.toLowerCase(), repository } : undefined;
};

const readForge = (
  text: string | undefined,
  place: Place | undefined,
  repo: string,
): { readonly kind: 'github' | 'gitea' | undefined; readonly api: string | undefined } => {
  if (text === undefined)
    return place?.host === GITHUB ? { kind: 'github', api: GITHUB_API } : { kind: undefined, api: undefined };
  const [kind, ...rest] = text.split('=');
  const given = rest.length === 0 ? undefined : rest.join('=').replace(/\/+$/, '');
  if ((kind !== 'github' && kind !== 'gitea') || (given !== undefined && !isApi(given))) {
    throw new FleetError('USAGE', `${JSON.stringify(redactUrl(text))} is no forge`, {
      subject: redactUrl(repo),
      hint: 'Write github, gitea, or gitea=https://git.example/api/v1',
    });
  }
  const usual = place && (kind === 'gitea' ? `https://${place.host}/api/v1` : gitHubApi(place.host));
  return { kind, api: given ?? usual };
};

const gitHubApi = (host: string): string => (host === GITHUB ? GITHUB_API : `https://${host}/api/v3`);

/** Whether a text is an acceptable API address: https, or http on this machine, because the token is sent to it. */
const isApi = (text: string): boolean => {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return (
    protocol === 'https:' ||
    (protocol === 'http:' && /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(hostname))
  );
};
