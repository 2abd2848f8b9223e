import { Agent, request } from 'undici';

export type ApiAnswer = { readonly status: number; readonly body: unknown };

/** The API server by plain HTTPS, for what tests look at or set up; what is tested uses its own client. */
export type ApiClient = AsyncDisposable & {
  /** @param body sent as JSON. Throws only where no answer came. */
  readonly request: (method: string, path: string, body?: unknown, form?: ApiForm) => Promise<ApiAnswer>;
};

export type ApiForm = {
  /** Of the body; without it, a PATCH is a merge patch. */
  readonly type?: `application/${string}`;
  /** The user in whose name it is asked. */
  readonly as?: string;
};

/** How the harness's own requests show in an audit log. */
export const HARNESS_AGENT = 'test-harness/1';

const TIMEOUT_MS = 30_000;

export type ApiAccess = {
  /** 'https://127.0.0.1:PORT' */
  readonly server: string;
  /** What says who we are, where no certificate does. */
  readonly headers?: Readonly<Record<string, string>>;
  /** PEM, and the name that the server's certificate has. */
  readonly tls: {
    readonly ca?: string | Buffer;
    readonly cert?: string | Buffer;
    readonly key?: string | Buffer;
    readonly servername?: string;
  };
};

export const openApiClient = ({ server, headers, tls }: ApiAccess): ApiClient => {
  const dispatcher = new Agent({ connect: { ...tls, timeout: TIMEOUT_MS } });
  return {
    request: async (method, path, body, { type, as } = {}) => {
      const answer = await request(`${server}${path}`, {
        dispatcher,
        method: method as 'GET',
        headersTimeout: TIMEOUT_MS,
        headers: {
          ...headers,
          'user-agent': HARNESS_AGENT,
          'content-type': type ?? (method === 'PATCH' ? 'application/merge-patch+json' : 'application/json'),
          ...(as !== undefined && { 'impersonate-user': as }),
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      const text = await answer.body.text();
      const isJson = String(answer.headers['content-type']).startsWith('application/json');
      return { status: answer.statusCode, body: isJson ? JSON.parse(text) : text };
    },
    [Symbol.asyncDispose]: () => dispatcher.destroy(),
  };
};
