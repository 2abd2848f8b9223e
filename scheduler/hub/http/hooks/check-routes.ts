import type { IncomingHttpHeaders } from 'node:http';
import { CHECKS_PATH } from '../../promote/checks/describe-question.ts';
import { MAX_ANSWER_BYTES } from '../../promote/checks/check-answer.ts';
import { type HubServer } from '../hub-server.ts';
import { signedRoute } from './hook-routes.ts';

export type CheckRoutes = {
  /** @param body the raw bytes, over which the signature was made @throws FleetError if the answer changes nothing */
  readonly take: (id: string, headers: IncomingHttpHeaders, body: Buffer) => Promise<void>;
};

const PER_MINUTE = 120;

/** Adds the path where webhook checks answer later (docs/hub-api.md). */
export const checkRoutes = async (server: HubServer, checks: CheckRoutes): Promise<void> =>
  signedRoute(
    server,
    { path: `${CHECKS_PATH}/:id`, bodyBytes: MAX_ANSWER_BYTES, perMinute: PER_MINUTE },
    async (request, body) => {
      const { id } = request.params as { readonly id: string };
      await checks.take(id, request.headers, body);
      return { status: 200, answer: { stored: true } };
    },
  );
