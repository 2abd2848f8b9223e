import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Server as TlsServer } from 'node:https';
import type { FastifyInstance } from 'fastify';
import type { Logger } from 'pino';

/** The Fastify instance that routes are added to. */
export type HubServer = FastifyInstance<TlsServer | Server, IncomingMessage, ServerResponse, Logger>;
