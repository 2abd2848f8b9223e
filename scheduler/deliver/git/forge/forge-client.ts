import { request } from 'undici';
import { defined } from '#bundles/defined';
import { FleetError, toFleetError } from '#bundles/errors';
import { openConnections } from '#bundles/transport/registry/http/connections';
import type { RegistryOptions } from '#bundles/transport/registry/registry';
import { VERSION } from '#bundles/version';
import type { CommitStatus } from './forge.ts';

/** GitHub's limit for the description of a commit status, in characters; Gitea takes more. */
const MAX_DESCRIPTION = 140;

/** Posts a commit status: the same request for GitHub and Gitea. @param repo path of the repository below the API's root */
export const postStatus = async (
  client: ForgeClient,
  repo: string,
  { commit, context, state, description, url }: CommitStatus,
): Promise<void> => {
  await client.ask(
    'POST',
    `${repo}/statuses/${commit}`,
    defined({
      state,
      context,
      // Half of a character at the end is refused.
      description: description.slice(0, MAX_DESCRIPTION).toWellFormed(),
      target_url: url,
    }),
  );
};

export type ForgeAnswer = { readonly status: number; readonly body: unknown };

/** Client of a forge's JSON API. The token is sent in a header and appears in no message. */
export type ForgeClient = AsyncDisposable & {
  /**
   * @param path below the API's root, without a slash in front
   * @param accepted status codes besides 2xx that are returned instead of thrown
   * @throws FleetError FORGE_REFUSED, FORGE_UNREACHABLE, ABORTED
   */
  readonly ask: (
    method: 'GET' | 'POST' | 'PATCH' | 'PUT',
    path: string,
    body?: unknown,
    accepted?: readonly number[],
  ) => Promise<ForgeAnswer>;
};

export type ForgeAccess = {
  /** 'https://api.github.com', 'https://git.example/api/v1' */
  readonly api: string;
  /** 'Bearer ...', 'token ...' */
  readonly authorization: string;
  readonly connection: RegistryOptions;
  readonly signal: AbortSignal;
};

const MAX_BODY = 8 << 20;

/** Azure DevOps answers a request without a valid token with this and its sign-in page. */
const SIGN_IN = 203;

export const openForgeClient = ({ api, authorization, connection, signal }: ForgeAccess): ForgeClient => {
  const dispatcher = openConnections(connection);
  return {
    ask: async (method, path, body, accepted = []) => {
      const what = `${method} ${api}/${path}`;
      try {
        const response = await request(
          `${api}/${path}`,
          defined({
            method,
            dispatcher,
            signal,
            headers: {
              authorization,
              accept: 'application/json',
              'content-type': 'application/json',
              'user-agent': `fleet-scheduler/${VERSION}`,
            },
            body: body !== undefined ? JSON.stringify(body) : undefined,
          }),
        );
        const text = await readCapped(response.body, what);
        const { statusCode: status } = response;
        if ((status >= 200 && status < 300 && status !== SIGN_IN) || accepted.includes(status))
          return { status, body: parse(text) };
        throw refusal(status, what, text);
      } catch (error) {
        throw failure(error, what);
      }
    },
    [Symbol.asyncDispose]: () => dispatcher.close(),
  };
};

const readCapped = async (body: AsyncIterable<Uint8Array>, what: string): Promise<string> => {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MAX_BODY)
      throw new FleetError('FORGE_REFUSED', `${what} answers with more than ${MAX_BODY} bytes`);
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
};

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
};

/** The reason is in `message`; GitLab has it there as text, list or object, or in `error_description` or `error`. */
const reasonOf = (text: string): string => {
  const said = parse(text);
  const { message, error, error_description: description } = (said ?? {}) as Record<string, unknown>;
  const reason = message ?? description ?? error;
  if (reason === undefined || reason === null || reason === '') return '';
  return `: ${clip(typeof reason === 'string' ? reason : JSON.stringify(reason), 300)}`;
};

/** Shortens a text to the length that a forge accepts. */
export const clip = (text: string, length: number): string =>
  text.length <= length ? text : `${text.slice(0, length - 3).toWellFormed()}...`;

const HINTS: Readonly<Record<number, string>> = {
  [SIGN_IN]: 'Check the token in FLEET_FORGE_TOKEN',
  302: 'Check the token in FLEET_FORGE_TOKEN, and the address in --forge',
  401: 'Check the token in FLEET_FORGE_TOKEN',
  403: 'The token lacks the permission to write to pull requests, issues and commit statuses of the repository',
  404: 'Check the repository, and that the token may read it',
};

const refusal = (status: number, what: string, text: string): FleetError => {
  const said = `${what} was answered with ${status}${reasonOf(text)}`;
  if (status === 429 || status >= 500 || /rate limit/i.test(text))
    return new FleetError('FORGE_UNREACHABLE', said, { hint: 'Run it again later' });
  return new FleetError('FORGE_REFUSED', said, HINTS[status] === undefined ? {} : { hint: HINTS[status] });
};

const failure = (error: unknown, what: string): FleetError => {
  const known = toFleetError(error, what);
  if (error instanceof FleetError || known.code === 'ABORTED') return known;
  return new FleetError('FORGE_UNREACHABLE', `${what} was not answered: ${(error as Error).message}`, {
    cause: error,
    hint: 'Check the network; the branch itself is pushed, run it again for the pull request',
  });
};

/** A required field of a response. @throws FleetError FORGE_REFUSED if it is missing or of another type */
export const fieldOf = <T extends 'string' | 'number'>(
  value: unknown,
  name: string,
  type: T,
): T extends 'string' ? string : number => {
  const found =
    typeof value === 'object' && value !== null ? (value as Record<string, unknown>)[name] : undefined;
  if (typeof found !== type)
    throw new FleetError('FORGE_REFUSED', `the forge's answer has no ${name}`, {
      hint: 'Check that --forge names the right kind and address',
    });
  return found as T extends 'string' ? string : number;
};

export const listOf = (value: unknown): readonly Record<string, unknown>[] =>
  Array.isArray(value) ? value.filter((one) => typeof one === 'object' && one !== null) : [];
