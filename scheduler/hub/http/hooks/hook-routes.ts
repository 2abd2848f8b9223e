import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import type { FastifyRequest } from 'fastify';
import { OWN_PROOF } from '../access/access.ts';
import type { HubServer } from '../hub-server.ts';
import { readBody } from '../read-body.ts';

/** Path for webhooks of repository servers. */
export const HOOKS_PATH = '/v1/hooks';

export type HookRoutes = {
  /** @param body the raw bytes, over which the signature was made @throws FleetError TOKEN_INVALID, CONFIG_INVALID */
  readonly verify: (headers: IncomingHttpHeaders, body: Buffer) => void | Promise<void>;
  /** Makes the loop check the repositories now. May be called at any time. */
  readonly wake: () => void;
  readonly perMinute?: number;
};

const BODY_BYTES = 1 << 20;
const PER_MINUTE = 120;

/** Adds the webhook route. */
export const hookRoutes = async (server: HubServer, hooks: HookRoutes): Promise<void> =>
  signedRoute(
    server,
    { path: HOOKS_PATH, bodyBytes: BODY_BYTES, perMinute: hooks.perMinute ?? PER_MINUTE },
    async (request, body) => {
      await hooks.verify(request.headers, body);
      hooks.wake();
      return { status: 202, answer: { accepted: true } };
    },
  );

export type SignedRoute = {
  readonly path: string;
  readonly bodyBytes: number;
  /** Requests of one address. */
  readonly perMinute: number;
};

/** Adds a path for signed messages in a scope of its own, because only such a path reads its body as raw bytes. */
export const signedRoute = async (
  server: HubServer,
  { path, bodyBytes, perMinute }: SignedRoute,
  take: (
    request: FastifyRequest,
    body: Buffer,
  ) => Promise<{ readonly status: number; readonly answer: object }>,
): Promise<void> => {
  await server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (request: FastifyRequest, payload: IncomingMessage) =>
      readBody(payload, { maxBytes: bodyBytes, place: request.place }),
    );
    scope.post(
      path,
      {
        bodyLimit: bodyBytes,
        config: { rateLimit: { max: perMinute, timeWindow: 60_000 }, access: OWN_PROOF },
      },
      async (request, reply) => {
        const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
        const { status, answer } = await take(request, body);
        return reply.code(status).send(answer);
      },
    );
  });
};
