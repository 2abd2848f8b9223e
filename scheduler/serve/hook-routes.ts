import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { BodyGate } from './admit-body.ts';
import type { HubServer } from './hub-server.ts';
import { readBody } from './read-body.ts';

/** Where repositories say that they changed. */
export const HOOKS_PATH = '/v1/hooks';

export type HookRoutes = {
  /** @param body exactly as it came: the signature is over these bytes @throws FleetError */
  readonly verify: (headers: IncomingHttpHeaders, body: Buffer) => void | Promise<void>;
  /** Look now. Called any number of times, it looks once more. */
  readonly poke: () => void;
  readonly perMinute?: number;
};

const BODY_BYTES = 1 << 20;
const PER_MINUTE = 120;

/** In a scope of its own, because here alone a body is taken as bytes. */
export const hookRoutes = async (server: HubServer, hooks: HookRoutes, gate: BodyGate): Promise<void> => {
  await server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (request: FastifyRequest, payload: IncomingMessage) =>
      readBody(payload, { maxBytes: BODY_BYTES, place: request.place }),
    );
    scope.post(
      HOOKS_PATH,
      {
        bodyLimit: BODY_BYTES,
        preParsing: (request, reply, payload) => gate.stranger(request, reply).then(() => payload),
        config: { rateLimit: { max: hooks.perMinute ?? PER_MINUTE, timeWindow: 60_000 } },
      },
      async (request, reply) => {
        await hooks.verify(request.headers, Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0));
        hooks.poke();
        return reply.code(202).send({ accepted: true });
      },
    );
  });
};
