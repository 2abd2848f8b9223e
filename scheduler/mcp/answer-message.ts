import type { IncomingMessage, ServerResponse } from 'node:http';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { createMcpServer } from './create-mcp-server.ts';
import type { Ask } from './questions.ts';

export type McpExchange = {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** The body, parsed. */
  readonly message: unknown;
};

/** Answers one message of streamable HTTP, without a session: each message has a server of its own, which is closed with the response. */
export const answerMessage = async (
  { request, response, message }: McpExchange,
  ask: Ask,
  version: string,
): Promise<void> => {
  const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
  const server = createMcpServer(ask, version);
  response.on('close', () => void server.close());
  await server.connect(transport);
  await transport.handleRequest(request, response, message);
};
