import type { FastifyRequest } from 'fastify';
import { FleetError, formatError } from '#bundles/errors';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { type Channel, formatChannel, parseChannel, parseName } from '#bundles/names';
import { channelsIn } from '#bundles/transport/publish/choose-pointers';
import { formatTime } from '#bundles/time';
import { listReleases, releaseJson } from '../../../release/reissue/list-releases.ts';
import { LOCK_WAIT_MS } from '../../promote/decide/chain.ts';
import { resumeChannel, rollBackChannel, rollBackOne } from '../../promote/decide/roll-back-channel.ts';
import { listReleaseChanges } from '../../promote/gate/list-changes.ts';
import { decideStep, ROLLOUT_STEPS } from '../../promote/rollout/decide-step.ts';
import { listRollouts } from '../../promote/rollout/list-rollouts.ts';
import { simulateChannel } from '../../promote/rollout/simulate-channel.ts';
import { decideValuesStep } from '../../promote/values/decide-values-step.ts';
import { listValuesRollouts } from '../../promote/values/list-values-rollouts.ts';
import { writeComposed } from '../../sites/layers/compose-sites.ts';
import { findRollout, rolloutMissing } from '../../sites/values-rollout.ts';
import { environmentOf, visibleTo } from '../access/enforce-access.ts';
import { readQuery } from '../readers/history-routes.ts';
import type { DecisionServer } from './decision-server.ts';

/** Adds the routes for releases and rollouts of an environment. */
export const rolloutRoutes = ({ context, options, read, decide }: DecisionServer): void => {
  const { layout, store } = context.hub;
  const open = async () => ({ layout, store, keys: await options.readKeys() });
  const channelsOf = async (request: FastifyRequest): Promise<readonly Channel[]> => {
    const environment = environmentOf(request);
    const all = channelsIn(await openOrStartLayout(layout)).map((name) => parseChannel(name));
    return all.filter((channel) => channel.environment === environment);
  };

  read('/releases', async (request) => {
    const { roots } = await options.readKeys();
    const opened = await openOrStartLayout(layout);
    const channels = await Promise.all(
      (await channelsOf(request)).map(async (channel) => ({
        channel: formatChannel(channel),
        releases: (await listReleases(opened, channel, roots)).map(releaseJson),
      })),
    );
    return { channels };
  });

  read(
    '/releases/:clusterType/changes',
    async (request) => {
      const { from, release, only } = readQuery(request, ['from', 'release', 'only']);
      return listReleaseChanges(
        await open(),
        {
          channel: channelOf(request),
          from: from === undefined ? undefined : parseRelease(from, 'from'),
          to: parseRelease(release, 'release'),
          assignment: only === undefined ? undefined : parseName(only, 'assignment'),
        },
        { now: context.clock(), visible: await visibleTo(request, context) },
      );
    },
    'rollback',
  );

  decide(
    '/releases/:clusterType/rollback',
    { verb: 'rollback', schema: 'hub-decisions#release-rollback', byAssignment: true },
    async ({ decision: { person, now, signal, repeats }, body, request }) => {
      const { release: to, assignment, reason } = body;
      const keys = await options.readKeys();
      const stepRequest = { channel: channelOf(request), person, reason, now, signal, waitMs: LOCK_WAIT_MS };
      if (assignment !== undefined)
        return {
          ...(await rollBackOne(keys, layout, { ...stepRequest, assignment, to })),
          release: null,
          leaseVoid: null,
        };
      if (to === undefined) {
        const { outcome } = await resumeChannel(keys, layout, stepRequest);
        const nothing = { assignment: null, to: null, release: null, leaseVoid: null };
        return { channel: formatChannel(stepRequest.channel), decision: 'resume', outcome, ...nothing };
      }
      const {
        expires: _,
        leaseVoid,
        ...decided
      } = await rollBackChannel(keys, layout, { ...stepRequest, to, repeats });
      const rest = {
        assignment: null,
        outcome: 'decided',
        leaseVoid: leaseVoid ? formatError(leaseVoid) : null,
      };
      return { ...decided, ...rest };
    },
  );

  read('/rollouts', async (request) => {
    const now = context.clock();
    const hub = await open();
    return {
      at: formatTime(now),
      rollouts: await listRollouts(hub, await channelsOf(request), now),
      values: await listValuesRollouts(hub, [environmentOf(request)], now),
    };
  });

  read('/rollouts/:clusterType/simulation', async (request) => {
    const channel = channelOf(request);
    const { agents: _, ...simulation } = await simulateChannel(await open(), channel, context.clock());
    return { channel: formatChannel(channel), ...simulation };
  });

  for (const decision of ROLLOUT_STEPS)
    decide(
      `/rollouts/:clusterType/${decision}`,
      { verb: 'rollout', schema: 'hub-decisions#reason' },
      async ({ decision: { person, now, repeats }, body: { reason }, request }) => {
        const step = { channel: channelOf(request), decision, person, reason, now, repeats };
        const keys = await options.readKeys();
        const { leaseVoid, ...decided } = await decideStep(keys, layout, { ...step, waitMs: LOCK_WAIT_MS });
        return { ...decided, leaseVoid: leaseVoid ? formatError(leaseVoid) : null };
      },
    );
};

/** Adds the decisions about changes of values that reach the sites of an environment in stages. */
export const valuesRolloutRoutes = ({ context, options, decide }: DecisionServer): void => {
  for (const decision of ROLLOUT_STEPS)
    decide(
      `/values-rollouts/:rollout/${decision}`,
      { verb: 'rollout', schema: 'hub-decisions#reason' },
      async ({ decision: { person, now, signal }, body: { reason }, request }) => {
        const { rollout: id = '' } = request.params as { readonly rollout?: string };
        const store = { ...context.hub.store, by: { person, reason } };
        const hub = { ...context.hub, store, keys: await options.readKeys() };
        // The right is about one environment: a rollout of another one is answered as missing.
        const { rollout } = await findRollout(store.db, id);
        if (rollout.environment !== environmentOf(request)) throw rolloutMissing(id);
        const decided = await decideValuesStep(hub, { id, decision, person, reason, now, signal });
        await writeComposed(hub, { now, command: `rollout ${decision}`, waitMs: LOCK_WAIT_MS });
        return decided;
      },
    );
};

/** @throws FleetError USAGE */
const parseRelease = (text: string | undefined, name: string): number => {
  if (text !== undefined && /^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new FleetError('USAGE', `${name} is the number of a release, such as ${name}=7`);
};

const channelOf = (request: FastifyRequest): Channel => {
  const { clusterType = '' } = request.params as { readonly clusterType?: string };
  return { environment: environmentOf(request), clusterType: parseName(clusterType, 'cluster type') };
};
