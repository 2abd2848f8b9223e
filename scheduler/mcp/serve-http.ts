import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { toFleetError } from '#bundles/errors';
import { parseStrictJson } from '#bundles/json/strict-json';
import { answerMessage } from './answer-message.ts';
import type { Ask } from './questions.ts';

const PATH = '/mcp';
const BODY_BYTES = 64 << 10;
const MAX_DEPTH = 32;
const REQUEST_MS = 60_000;
const CONNECTIONS = 100;

export type HttpOptions = {
  readonly version: string;
  /** Asks the hub with the token of the request. */
  readonly askWith: (token: string, signal: AbortSignal) => Ask;
  readonly signal: AbortSignal;
};

/**
 * Serves MCP by streamable HTTP, without sessions. It has no token of its own: each request asks the hub with the bearer token that it came
 * with, so that a caller reads what the token allows.
 */
export const createMcpHttp = (options: HttpOptions): Server => {
  const server = createServer((request, response) => void handle(request, response, options));
  server.requestTimeout = REQUEST_MS;
  server.maxConnections = CONNECTIONS;
  return server;
};

const handle = async (
  request: IncomingMessage,
  response: ServerResponse,
  { version, askWith, signal }: HttpOptions,
): Promise<void> => {
  try {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    if (pathname !== PATH) return refuse(response, 404, 'there is no such path; MCP is at /mcp');
    // DNS rebinding: a browser sends the origin of the page that asks.
    if (request.headers.origin !== undefined) return refuse(response, 403, 'browsers are not served');
    if (request.method !== 'POST') return refuse(response, 405, 'use POST: there are no sessions');
    const [scheme = '', token = '', ...more] = (request.headers.authorization ?? '').split(' ');
    if (scheme.toLowerCase() !== 'bearer' || !/^[!-~]+$/.test(token) || more.length > 0) {
      response.setHeader('www-authenticate', 'Bearer');
      return refuse(
        response,
        401,
        'a request has the token of a reader of the hub: Authorization: Bearer ...',
      );
    }
    const body = await readBody(request);
    if (body === undefined) return refuse(response, 413, `a request has at most ${BODY_BYTES} bytes`);
    const message = parseStrictJson(body, { maxBytes: BODY_BYTES, maxDepth: MAX_DEPTH }, 'the request');
    // Newer versions of the protocol have no batches; one would ask the hub hundreds of times.
    if (Array.isArray(message))
      return refuse(response, 400, 'a request is one message: batches are not served');
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const ask = askWith(token, AbortSignal.any([signal, gone.signal]));
    await answerMessage({ request, response, message }, ask, version);
  } catch (error) {
    refuse(response, 400, toFleetError(error, 'reading the request').message);
  }
};

const readBody = async (request: IncomingMessage): Promise<Buffer | undefined> => {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.byteLength;
    if (size > BODY_BYTES) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
};

const refuse = (response: ServerResponse, status: number, message: string): void => {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32_000, message } }));
};
