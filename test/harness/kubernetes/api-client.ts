import { Agent, request } from 'undici';

export type ApiAnswer = { readonly status: number; readonly body: unknown };

/** The API server by plain HTTPS, for what tests look at or set up; what is tested uses its own client. */
export type ApiClient = AsyncDisposable & {
  /** @param body sent as JSON; a PATCH is a merge patch. Throws only where no answer came. */
  readonly request: (method: string, path: string, body?: unknown) => Promise<ApiAnswer>;
};

/** How the harness's own requests show in an audit log. */
export const HARNESS_AGENT = 'test-harness/1';

const TIMEOUT_MS = 30_000;

/** @param ca PEM */
export const openApiClient = (server: string, token: string, ca: string | Buffer): ApiClient => {
  const dispatcher = new Agent({ connect: { ca: ca.toString(), timeout: TIMEOUT_MS } });
  return {
    request: async (method, path, body) => {
      const answer = await request(`${server}${path}`, {
        dispatcher,
        method: method as 'GET',
        headersTimeout: TIMEOUT_MS,
        headers: {
          authorization: `Bearer ${token}`,
          'user-agent': HARNESS_AGENT,
          'content-type': method === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
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
