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
import { logFailure } from './log-failure.ts';
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
    composeLayers(options, compose),
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
    const round = createKeepCurrent({ configuration, store, clock, log, publish });
    return repeat(round, KEEP_MS, logFailure(log, 'keeping releases current', 'not published'));
  };

/** Stores names of packages for dashboards. */
const nameVersions =
  ({ hub, log }: DutyOptions): Duty =>
  async () =>
    repeat(() => noteVersions(hub), VERSIONS_MS, logFailure(log, 'noting versions', 'versions not noted'));

/** Counts the fleet once an hour. */
const countHourly =
  ({ hub, clock, log }: DutyOptions): Duty =>
  async () =>
    repeat(
      () => sampleCompliance(hub, clock()),
      SAMPLE_MS,
      logFailure(log, 'counting the fleet', 'compliance not sampled'),
    );

/** @throws FleetError USAGE for `retention` */
const removeOld = ({ configuration, hub, clock, log }: DutyOptions): readonly Duty[] => {
  if (configuration.retention === undefined) return [];
  const days = retentionDays(configuration.retention);
  const round = async (signal: AbortSignal): Promise<void> => {
    const removed = await applyRetention(hub, { days, now: clock(), signal });
    if (!removed) log.warn({ days }, 'no agent was heard for 30 days: nothing removed, is the clock right?');
    else if (Object.values(removed).some((rows) => rows > 0))
      log.info({ days, ...removed }, 'removed old facts');
  };
  return [async () => repeat(round, RETENTION_MS, logFailure(log, 'removing old facts', 'not removed'))];
};

/** Moves changes that were made through the API to the audit log, and those of commands that could not. */
const appendNotes =
  ({ hub, clock, log }: DutyOptions): Duty =>
  async () => {
    const append = async (): Promise<void> => {
      const unfinished = await noteUnfinishedWrites(hub.store, clock());
      if (unfinished > 0) log.warn({ unfinished }, 'writes into the repository without a known end');
      const { appended, waiting } = await appendChanges(hub, { command: 'serve', now: clock() });
      if (appended > 0) log.info({ appended }, 'changes appended to the audit log');
      if (waiting) log.warn(faultFields(waiting), 'changes wait for the audit log');
    };
    const onFailure = logFailure(log, 'appending to the audit log', 'audit log not written');
    const round = repeat(append, MIRROR_MS, onFailure);
    return {
      wake: (what) => {
        if (what === 'sites') round.wake();
      },
      [Symbol.asyncDispose]: () => round[Symbol.asyncDispose](),
    };
  };

/** Composes the values of sites from the layers that releases name. */
const composeLayers =
  ({ log }: DutyOptions, compose: LayerComposer): Duty =>
  async ({ confirm }) => {
    const onFailure = logFailure(log, 'composing the values of sites', 'sites not composed');
    const round = repeat((signal) => compose.round({ confirm, signal }), COMPOSE_MS, onFailure);
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

/** Answers the values that people at sites set. */
const answerLocal =
  ({ configuration: { siteValues: review }, hub, clock, log, authoring }: DutyOptions): Duty =>
  async ({ confirm }) => {
    const repository = (review?.write ?? 'hub') === 'hub' ? undefined : authoring;
    const round = createLocalAnswerer({ hub, review, repository, clock, log, confirm });
    return repeat(round, COMPOSE_MS, logFailure(log, 'answering local values', 'local values not answered'));
  };

const mirrorSites =
  ({ configuration, hub, clock, log, metrics, env }: DutyOptions): Duty =>
  async ({ confirm }) => {
    const publish = sitePublisher(configuration, clock, env, confirm);
    const round = createMirror({ hub, publish, clock, log, metrics });
    const onFailure = logFailure(log, 'reading sites', 'sites not published yet');
    const mirror = repeat(limitDutyCycle(round, MIRROR_CYCLE), MIRROR_MS, onFailure);
    return {
      wake: (what) => {
        if (what === 'sites') mirror.wake();
      },
      [Symbol.asyncDispose]: () => mirror[Symbol.asyncDispose](),
    };
  };
