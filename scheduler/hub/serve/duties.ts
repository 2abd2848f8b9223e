import type { Logger } from 'pino';
import { toFleetError } from '#bundles/errors';
import { DAY_MS } from '#bundles/time';
import type { Configuration } from '../../settings/configuration.ts';
import { appendChanges } from '../changes/append-changes.ts';
import { noteUnfinishedWrites } from '../changes/note-write.ts';
import type { Authoring } from '../http/authoring/authoring.ts';
import type { Metrics } from '../http/metrics/metrics.ts';
import type { Hub } from '../hub.ts';
import { noteVersions } from '../questions/history/note-versions.ts';
import { LOCK_WAIT_MS } from '../../release/write/wait-for-layout.ts';
import { applyRetention, retentionDays } from '../upkeep/retention/apply-retention.ts';
import { sampleCompliance } from '../upkeep/sample-compliance.ts';
import { faultFields } from '../watch/fault-fields.ts';
import type { Watch } from '../watch/watch-platform.ts';
import { createKeepCurrent } from './keep-current.ts';
import type { Duty, Term } from './lead.ts';
import { createLocalAnswerer } from './answer-local-edits.ts';
import { createLayerComposer, type LayerComposer } from './compose-layers.ts';
import { loopDuty } from './loop-duty.ts';
import { limitDutyCycle } from './limit-duty-cycle.ts';
import { createMirror } from './mirror-sites.ts';
import { channelPublisher } from './publish-channels.ts';
import { sitePublisher } from './publish-sites.ts';
import { repeat } from './repeat.ts';
import { type AlarmOptions, startAlarms } from './start-alarms.ts';

export type DutyOptions = {
  readonly configuration: Configuration;
  readonly hub: Hub;
  readonly clock: () => Date;
  readonly log: Logger;
  readonly metrics: Metrics;
  readonly env: NodeJS.ProcessEnv;
  /** Edits of the repository of the platform, where values of sites may be decided. */
  readonly authoring?: Pick<Authoring, 'saveValues' | 'declined'> | undefined;
};

/** Interval between checks of certificates, releases and leases that end soon; the shortest freshness is an hour. */
const KEEP_MS = 300_000;
const MIRROR_MS = 30_000;
/** Each round writes the index of the layout, which names every site: a pause lets sites that enrol one after another share it. */
const MIRROR_CYCLE = { share: 0.1, maxPauseMs: MIRROR_MS };
const COMPOSE_MS = 15_000;
const VERSIONS_MS = 30_000;
const RETENTION_MS = DAY_MS / 4;
/** Interval between looks at whether the hour was counted. */
const SAMPLE_MS = 300_000;

/** Duties of the leader. */
export const dutiesOf = (options: DutyOptions): readonly Duty[] => {
  const { store } = options.hub;
  const compose = createLayerComposer(options);
  let watch: Pick<Watch, 'trouble'> | undefined;
  const loop = loopDuty({
    ...options,
    store,
    beforePublish: composeFirst(options, compose),
    onWatch: (started) => {
      watch = started;
    },
  });
  return [
    ...(options.configuration.platform === undefined ? [] : [loop]),
    keepCurrent(options),
    ...removeOld(options),
    composeLayers(compose),
    answerLocal(options),
    mirrorSites(options),
    appendNotes(options),
    nameVersions(options),
    countHourly(options),
    raiseAlarms(options, () => watch?.trouble()),
  ];
};

const raiseAlarms =
  ({ hub: { store }, ...options }: DutyOptions, trouble: AlarmOptions['trouble']): Duty =>
  async () =>
    startAlarms({ ...options, store, random: Math.random, trouble });

const keepCurrent =
  ({ configuration, hub: { store }, clock, log, env }: DutyOptions): Duty =>
  async ({ confirm }) => {
    const publish = channelPublisher(configuration, clock, env, confirm);
    return repeat(createKeepCurrent({ configuration, store, clock, log, publish }), KEEP_MS);
  };

/** Stores names of packages for dashboards. A failure is tried again in the next round. */
const nameVersions =
  ({ hub, log }: DutyOptions): Duty =>
  async () =>
    repeat(async () => {
      try {
        await noteVersions(hub);
      } catch (error) {
        log.error(faultFields(toFleetError(error, 'noting versions')), 'versions not noted');
      }
    }, VERSIONS_MS);

/** Counts the fleet once an hour. A failure is tried again in the next round. */
const countHourly =
  ({ hub, clock, log }: DutyOptions): Duty =>
  async () =>
    repeat(async () => {
      try {
        await sampleCompliance(hub, clock());
      } catch (error) {
        log.error(faultFields(toFleetError(error, 'counting the fleet')), 'compliance not sampled');
      }
    }, SAMPLE_MS);

/** @throws FleetError USAGE for `retention` */
const removeOld = ({ configuration, hub, clock, log }: DutyOptions): readonly Duty[] => {
  if (configuration.retention === undefined) return [];
  const days = retentionDays(configuration.retention);
  const round = async (signal: AbortSignal): Promise<void> => {
    try {
      const removed = await applyRetention(hub, { days, now: clock(), signal });
      if (!removed)
        log.warn({ days }, 'no agent was heard for 30 days: nothing removed, is the clock right?');
      else if (Object.values(removed).some((rows) => rows > 0))
        log.info({ days, ...removed }, 'removed old facts');
    } catch (error) {
      if (!signal.aborted) log.error(faultFields(toFleetError(error, 'removing old facts')), 'not removed');
    }
  };
  return [async () => repeat(round, RETENTION_MS)];
};

/** Moves changes that were made through the API to the audit log, and those of commands that could not. */
const appendNotes =
  ({ hub, clock, log }: DutyOptions): Duty =>
  async () => {
    const round = repeat(async () => {
      try {
        const unfinished = await noteUnfinishedWrites(hub.store, clock());
        if (unfinished > 0) log.warn({ unfinished }, 'writes into the repository without a known end');
        const { appended, waiting } = await appendChanges(hub, { command: 'serve', now: clock() });
        if (appended > 0) log.info({ appended }, 'changes appended to the audit log');
        if (waiting) log.warn(faultFields(waiting), 'changes wait for the audit log');
      } catch (error) {
        log.error(faultFields(toFleetError(error, 'appending to the audit log')), 'audit log not written');
      }
    }, MIRROR_MS);
    return {
      wake: (what) => {
        if (what === 'sites') round.wake();
      },
      [Symbol.asyncDispose]: () => round[Symbol.asyncDispose](),
    };
  };

/** Composes the values of sites from the layers that releases name. A failure is tried again in the next round. */
const composeLayers =
  (compose: LayerComposer): Duty =>
  async ({ confirm }) => {
    const round = repeat((signal) => compose.round({ confirm, signal }), COMPOSE_MS);
    return {
      wake: (what) => {
        if (what === 'sites' || what === 'build') round.wake();
      },
      [Symbol.asyncDispose]: () => round[Symbol.asyncDispose](),
    };
  };

/**
 * Composes the values of sites by the releases of a build and publishes them before these: an agent that gets a release has the values that its new site
 * inputs take from layers. What fails here is done by later rounds of the composer and the mirror, which log it.
 */
const composeFirst =
  ({ configuration, clock, env, log }: DutyOptions, compose: LayerComposer) =>
  async ({ confirm, signal }: Term): Promise<void> => {
    await compose.round({ confirm, signal }, LOCK_WAIT_MS);
    // Also of rounds during the build: a release of an environment is in the layout before those of the others are built.
    const sites = compose.takeLaidOut();
    if (sites.length === 0) return;
    try {
      await sitePublisher(configuration, clock, env, confirm)?.(sites, signal);
    } catch (error) {
      if (signal.aborted) return;
      log.warn(
        faultFields(toFleetError(error, 'publishing sites')),
        'sites not published before their release',
      );
    }
  };

/** Answers the values that people at sites set. A failure is tried again in the next round. */
const answerLocal =
  ({ configuration: { siteValues: review }, hub, clock, log, authoring }: DutyOptions): Duty =>
  async ({ confirm }) => {
    const repository = (review?.write ?? 'hub') === 'hub' ? undefined : authoring;
    return repeat(createLocalAnswerer({ hub, review, repository, clock, log, confirm }), COMPOSE_MS);
  };

const mirrorSites =
  ({ configuration, hub, clock, log, metrics, env }: DutyOptions): Duty =>
  async ({ confirm }) => {
    const publish = sitePublisher(configuration, clock, env, confirm);
    const round = createMirror({ hub, publish, clock, log, metrics });
    const mirror = repeat(limitDutyCycle(round, MIRROR_CYCLE), MIRROR_MS);
    return {
      wake: (what) => {
        if (what === 'sites') mirror.wake();
      },
      [Symbol.asyncDispose]: () => mirror[Symbol.asyncDispose](),
    };
  };
