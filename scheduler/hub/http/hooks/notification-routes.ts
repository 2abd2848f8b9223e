import type { IncomingMessage } from 'node:http';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { FleetError } from '#bundles/errors';
import { createLimit } from '#bundles/transport/publish/limit';
import { authenticateFollower } from '../../ingest/followers/authenticate-follower.ts';
import { releasedBundles } from '../../ingest/followers/find-bundle.ts';
import { MAX_NOTIFICATION_BYTES, type Notification } from '../../ingest/followers/notification.ts';
import { readArgoCd } from '../../ingest/followers/read-argo-cd.ts';
import { readFlux } from '../../ingest/followers/read-flux.ts';
import { readRancherFleet } from '../../ingest/followers/read-rancher-fleet.ts';
import { type NotificationResult, takeNotification } from '../../ingest/followers/take-notification.ts';
import type { FollowerKind } from '../../store/tables.ts';
import { channelOf } from '../../sites/agent-record.ts';
import { OWN_PROOF } from '../access/access.ts';
import type { Context } from '../context.ts';
import type { HubServer } from '../hub-server.ts';
import { createQuota } from '../quota.ts';
import { readBody } from '../read-body.ts';
import { UNAUTHENTICATED_RATE } from '../readers/reader-routes.ts';

/** POST a notification of Flux, Argo CD or about Rancher Fleet -> 202. Credential: the token of the follower in the path. Idempotent. */
export const FOLLOWERS_PATH = '/v1/followers';

const READERS: Readonly<Record<FollowerKind, (body: Uint8Array) => readonly Notification[]>> = {
  flux: (body) => [readFlux(body)],
  'argo-cd': (body) => [readArgoCd(body)],
  'rancher-fleet': readRancherFleet,
};

export type FollowerQuota = { readonly perMinute: number; readonly burst: number };

/** Notifications of one follower a minute: a cluster with 500 objects reports each of them at a new release. */
const QUOTA: FollowerQuota = { perMinute: 600, burst: 3000 };

/** Adds the routes for notifications in a scope of its own: Flux signs the raw bytes. */
export const notificationRoutes = async (
  server: HubServer,
  context: Context,
  limit: FollowerQuota = QUOTA,
): Promise<void> => {
  const quota = createQuota(limit);
  // One at a time, as the database has a single writer.
  const inTurn = createLimit(1);
  await server.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (request: FastifyRequest, payload: IncomingMessage) =>
      readBody(payload, { maxBytes: MAX_NOTIFICATION_BYTES, place: request.place }),
    );
    for (const kind of Object.keys(READERS) as FollowerKind[])
      scope.post(
        `${FOLLOWERS_PATH}/:site/:name/${kind}`,
        {
          bodyLimit: MAX_NOTIFICATION_BYTES,
          config: { rateLimit: UNAUTHENTICATED_RATE, access: OWN_PROOF },
        },
        async (request, reply) => {
          const { hub, clock } = context;
          const { site, name } = request.params as { readonly site: string; readonly name: string };
          const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0);
          const id = `${site}/${name}`;
          const follower = await authenticateFollower(hub.store.db, {
            id,
            kind,
            headers: request.headers,
            body,
          });
          checkQuota(quota.take(id, 1), id, reply);
          const bundles = releasedBundles(hub, channelOf(follower));
          const results: NotificationResult[] = [];
          for (const notification of READERS[kind](body)) {
            const result = await inTurn(() =>
              takeNotification(hub, follower, { notification, body, now: clock(), bundles }),
            );
            context.metrics.notifications.inc({ from: kind, result });
            results.push(result);
          }
          const isTaken = results.includes('taken');
          if (isTaken) context.onReport();
          return reply.code(202).send({ result: isTaken ? 'taken' : (results[0] ?? 'noted') });
        },
      );
  });
};

/** @throws FleetError TOO_MANY */
const checkQuota = (seconds: number, id: string, reply: FastifyReply): void => {
  if (seconds === 0) return;
  reply.header('retry-after', seconds);
  throw new FleetError('TOO_MANY', `${id} notifies more often than the hub takes; try again in ${seconds} s`);
};
