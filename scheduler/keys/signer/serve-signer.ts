import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Logger } from 'pino';
import { FleetError, toFleetError } from '#bundles/errors';
import { isSignerRole, toRefusal } from '../remote/protocol.ts';
import { readLayersRequest, readShowRequest, readSignRequest } from './read-request.ts';
import type { Signer } from './signer.ts';

const PATH = /^\/v1\/(keys|sign)\/([a-z]{1,16})$/;
/** Protects the process from a client that opens many connections. An honest hub sends one request at a time. */
const MAX_CONNECTIONS = 64;
const REQUEST_MS = 30_000;

/** Creates the signer's HTTP server (protocol.ts). It does not listen yet. */
export const createSignerServer = (signer: Signer, log: Logger): Server => {
  const server = createServer(
    { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS },
    (request, response) => {
      void respond(signer, log, request, response);
    },
  );
  server.maxConnections = MAX_CONNECTIONS;
  return server;
};

const respond = async (
  signer: Signer,
  log: Logger,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> => {
  try {
    send(response, 200, await answer(signer, request));
  } catch (error) {
    const refusal = toFleetError(error, 'signing');
    if (refusal.code === 'INTERNAL') log.error({ err: refusal.cause ?? refusal }, 'failed');
    // The rest of a request that is too large is not read.
    if (!request.complete) response.setHeader('connection', 'close');
    send(response, STATUS[refusal.code] ?? 403, toRefusal(refusal));
  }
};

const STATUS: Readonly<Record<string, number>> = {
  USAGE: 404,
  KEY_MISSING: 404,
  TOO_LARGE: 413,
  TOO_MANY: 429,
  INTERNAL: 500,
};

const answer = async (signer: Signer, request: IncomingMessage): Promise<object> => {
  if (request.url === '/v1/reports')
    return request.method === 'POST'
      ? { taken: await signer.show(await readShowRequest(request)) }
      : { heads: signer.heads() };
  if (request.url === '/v1/layers' && request.method === 'POST')
    return { layers: (await signer.showLayers(await readLayersRequest(request))) ?? null };
  const [, action, role] = PATH.exec(request.url ?? '') ?? [];
  if (!isSignerRole(role)) throw new FleetError('USAGE', 'a signer has /v1/keys/<role> and /v1/sign/<role>');
  if (action === 'keys' && request.method === 'GET') return { role, publicKey: signer.publicKey(role).pem };
  if (action !== 'sign' || request.method !== 'POST')
    throw new FleetError('USAGE', 'keys are requested with GET, signatures with POST');
  const { bytes, evidence } = await readSignRequest(request);
  return { signature: (await signer.sign(role, bytes, evidence)).toString('base64') };
};

const send = (response: ServerResponse, status: number, body: object): void => {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(JSON.stringify(body));
};
