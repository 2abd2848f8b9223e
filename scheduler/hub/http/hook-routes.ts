import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import type { BodyGate } from './admit-body.ts';
import type { HubServer } from './hub-server.ts';
import { readBody } from './read-body.ts';

/** Path for webhooks of repository servers. */
export const HOOKS_PATH = '/v1/hooks';

export type HookRoutes = {
  /** @param body the raw bytes, over which the signature was made @throws FleetError TOKEN_INVALID, CONFIG_INVALID */
  readonly verify: (headers: IncomingHttpHeaders, body: Buffer) => void | Promise<void>;
  /** Makes the loop check the repositories now. May be called at any time. */
  readonly poke: () => void;
  readonly perMinute?: number;
};

const BODY_BYTES = 1 << 20;
const PER_MINUTE = 120;

/** Adds the webhook route in a scope of its own, because only this route reads its body as raw bytes. */
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
