import type { FastifyReply, FastifyRequest } from 'fastify';
import { FleetError } from '#bundles/errors';
import { createAdmission, type AdmissionLimits, type Place } from './admit.ts';
import { type AgentQuota, createQuota } from './quota.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** The admission under which its body is read. */
    place?: Place;
  }
}

type Hook = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/** Admits requests before their bodies are read. */
export type BodyGate = {
  /** For callers without a certificate, and paths that do not exist. The hook rejects with FleetError BUSY, TOO_LARGE. */
  readonly unauthenticated: Hook;
  /** For the agent in `request.caller`. The hook rejects with FleetError TOO_MANY, BUSY, TOO_LARGE. */
  readonly agent: Hook;
};

/**
 * Three separate queues, so that short requests of agents wait neither for unauthenticated callers nor for long reports.
 * Together, their `bytes` bound the memory for bodies.
 */
const UNAUTHENTICATED: AdmissionLimits = {
  bytes: 4 << 20,
  each: 64,
  queue: 500,
  waitMs: 10_000,
  slowMs: 2_000,
};
const SMALL_BODIES: AdmissionLimits = { bytes: 8 << 20, each: 4, queue: 2000, waitMs: 30_000, slowMs: 5_000 };
const LARGE_BODIES: AdmissionLimits = {
  bytes: 9 << 20,
  each: 2,
  queue: 2000,
  waitMs: 30_000,
  slowMs: 15_000,
};
const SHORT_BYTES = 64 << 10;

/** Twice the longest body of an agent, so that sending a report again does not exceed the quota. */
const BURST_BYTES = 18 << 20;

export const createBodyGate = ({ requestsPerMinute, bytesPerMinute }: AgentQuota): BodyGate => {
  const [strangers, short, long] = [UNAUTHENTICATED, SMALL_BODIES, LARGE_BODIES].map(createAdmission);
  const requests = createQuota({ perMinute: requestsPerMinute });
  const bytesLeft = createQuota({
    perMinute: bytesPerMinute,
    burst: Math.max(bytesPerMinute, BURST_BYTES),
  });

  const enter = async (
    lane: ReturnType<typeof createAdmission> | undefined,
    who: string,
    { request, reply, bytes }: { request: FastifyRequest; reply: FastifyReply; bytes: number },
  ): Promise<void> => {
    const place = await lane?.enter(who, bytes);
    if (!place) return;
    request.place = place;
    reply.raw.once('close', place.leave);
    // The connection closed while the request waited; 'close' is not emitted again.
    if (reply.raw.destroyed || request.raw.destroyed) place.leave();
  };

  return {
    unauthenticated: async (request, reply) => {
      const bytes = announced(request);
      if (bytes > 0) await enter(strangers, request.ip, { request, reply, bytes });
    },
    agent: async (request, reply) => {
      const id = request.caller?.agent.id ?? '';
      const bytes = announced(request);
      const seconds = requests.take(id, 1) || bytesLeft.take(id, bytes);
      if (seconds > 0) {
        reply.header('retry-after', seconds);
        throw new FleetError('TOO_MANY', `${id} asks more than its quota allows; try again in ${seconds} s`, {
          hint: 'It tries again automatically; agentQuota in fleet-scheduler.yaml sets the limit',
        });
      }
      await enter(bytes <= SHORT_BYTES ? short : long, id, { request, reply, bytes });
    },
  };
};

/** The announced length of the body; without one, the limit of the route. @throws FleetError TOO_LARGE */
const announced = ({ headers, routeOptions }: FastifyRequest): number => {
  const most = routeOptions.bodyLimit ?? 0;
  const length = headers['content-length'];
  if (length === undefined) return headers['transfer-encoding'] === undefined ? 0 : most;
  const bytes = Number(length);
  if (bytes <= most) return bytes;
  throw new FleetError('TOO_LARGE', `the request has ${bytes} bytes, this path takes ${most}`);
};
