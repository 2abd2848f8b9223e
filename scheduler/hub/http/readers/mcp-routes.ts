import { FleetError } from '#bundles/errors';
import { answerOf } from '#bundles/transport/hub/ask-hub';
import { VERSION } from '#bundles/version';
import type { Ask } from '../../../mcp/questions.ts';
import { ANYONE, READERS } from '../access/access.ts';
import type { HubServer } from '../hub-server.ts';

/** Where the Model Context Protocol is spoken (docs/mcp.md). */
const MCP_PATH = '/mcp';
const PER_MINUTE = { max: 600, timeWindow: 60_000 };

/** Adds MCP: questions to the API of this hub, each asked with the token of the request and judged as if it came from outside. */
export const mcpRoutes = (server: HubServer): void => {
  server.get(MCP_PATH, { config: { rateLimit: PER_MINUTE, access: ANYONE } }, async (_, reply) =>
    reply
      .code(405)
      .header('allow', 'POST')
      .send({ code: 'USAGE', message: 'use POST: there are no sessions' }),
  );
  server.post(MCP_PATH, { config: { rateLimit: PER_MINUTE, access: READERS } }, async (request, reply) => {
    const { authorization, origin } = request.headers;
    // DNS rebinding: a browser sends the origin of the page that asks, and the cookie of a session.
    if (origin !== undefined || authorization === undefined)
      throw new FleetError('CROSS_SITE', 'MCP takes the token of a reader, and no request of a browser');
    // Newer versions of the protocol have no batches; one would ask the hub hundreds of times.
    if (Array.isArray(request.body))
      throw new FleetError('USAGE', 'a request is one message: batches are not served');
    const within = async (address: string, { method = 'GET' }: RequestInit): Promise<Response> => {
      if (method !== 'GET') throw new TypeError('a question writes');
      const { pathname, search } = new URL(address);
      const { statusCode, headers, rawPayload } = await server.inject({
        method,
        url: `${pathname}${search}`,
        headers: { authorization },
        remoteAddress: request.ip,
      });
      const type = String(headers['content-type']);
      return new Response(new Uint8Array(rawPayload), {
        status: statusCode,
        headers: { 'content-type': type },
      });
    };
    const ask: Ask = async (operation) =>
      answerOf('the hub', await operation({ baseUrl: 'http://hub', fetch: within as typeof fetch }));
    // Imported on demand: a hub without assistants does not load the protocol.
    const { answerMessage } = await import('../../../mcp/answer-message.ts');
    reply.hijack();
    await answerMessage({ request: request.raw, response: reply.raw, message: request.body }, ask, VERSION);
  });
};
