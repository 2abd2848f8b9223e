import type { Logger } from 'pino';
import type { Dispatcher } from 'undici';
import { toFleetError } from '#bundles/errors';
import { openConnections } from '#bundles/transport/registry/http/connections';
import { registryOptions } from '#bundles/transport/registry/registry-access';
import { type KeyDirectory, openKeyDirectory } from '../../keys/key-directory.ts';
import { type Configuration, requireSetting } from '../../settings/configuration.ts';
import type { AlarmFacts } from '../alarms/alarm-facts.ts';
import { rememberHead } from '../changes/remember-head.ts';
import { deriveAlarms } from '../alarms/derive-alarms.ts';
import { forgetAlarms, keepAlarms } from '../alarms/keep-alarms.ts';
import { readAlarmFacts } from '../alarms/read-alarm-facts.ts';
import { readEnds } from '../alarms/read-ends.ts';
import { createAlarmSender } from '../alarms/send-alarms.ts';
import type { Metrics } from '../http/metrics/metrics.ts';
import { channelsOf } from '../questions/state/read-agents.ts';
import { readDesired } from '../questions/state/read-desired.ts';
import type { Store } from '../store/open-store.ts';
import type { Watch } from '../watch/watch-platform.ts';
import type { RunningDuty } from './lead.ts';
import { logFailure } from './log-failure.ts';
import { repeat } from './repeat.ts';
import { limitDutyCycle } from './limit-duty-cycle.ts';

export type AlarmOptions = {
  readonly configuration: Configuration;
  readonly store: Store;
  readonly env: NodeJS.ProcessEnv;
  readonly clock: () => Date;
  readonly random: () => number;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly metrics?: Pick<Metrics, 'alarmsDelivered'>;
  /** Why the loop that builds does not succeed; undefined also without such a loop. */
  readonly trouble?: Watch['trouble'] | undefined;
};

/** Between two looks at the facts without news, and between two tries of a receiver. */
const LOOK_MS = 30_000;
const CYCLE = { share: 0.02, maxPauseMs: LOOK_MS / 2 };

/**
 * Derives the alarms of the fleet, keeps them in the database and sends them to the receivers. Only one replica runs it, the one that leads.
 * Each receiver has a loop of its own: one that is slow or gone holds no other up. Disposal aborts messages under way.
 */
export const startAlarms = (options: AlarmOptions): RunningDuty => {
  const { configuration, store, clock, log, metrics } = options;
  const settings = configuration.alarms ?? { receivers: [] };
  let opened: Dispatcher | undefined;
  const registry = registryOptions({ ...configuration, env: options.env });
  const access = {
    connections: () => (opened ??= openConnections(registry)),
    plainHttp: configuration.plainHttp,
    ca: registry.ca,
  };
  const senders = settings.receivers.map((receiver) =>
    repeat(
      createAlarmSender(receiver, settings, {
        store,
        access,
        clock,
        random: options.random,
        log,
        onDelivered: (name, result, count) => metrics?.alarmsDelivered.inc({ receiver: name, result }, count),
      }),
      LOOK_MS,
      logFailure(log, 'sending alarms', 'alarms not delivered', { receiver: receiver.name }),
    ),
  );
  const look = createAlarmRound(options);
  const looking = repeat(
    limitDutyCycle(async (signal) => {
      if (await look(signal)) for (const sender of senders) sender.wake();
    }, CYCLE),
    LOOK_MS,
    logFailure(log, 'looking for alarms', 'alarms not judged'),
  );
  return {
    // Events that change a gate change alarms, too: reports and decisions.
    wake: (what) => {
      if (what === 'judge') looking.wake();
    },
    [Symbol.asyncDispose]: async () => {
      await looking[Symbol.asyncDispose]();
      await Promise.all(senders.map((sender) => sender[Symbol.asyncDispose]()));
      await opened?.close();
    },
  };
};

/** @returns a function that resolves to whether any alarm is new or over */
export const createAlarmRound = (options: AlarmOptions) => {
  const { configuration, store, clock, log } = options;
  const receivers = (configuration.alarms?.receivers ?? []).map(({ name }) => name);
  let known: KeyDirectory | undefined;

  return async (signal: AbortSignal): Promise<boolean> => {
    const now = clock();
    // Read in every round, as officers may install a new root; the same root is kept, as releases are verified once by it.
    const read = await openKeyDirectory(requireSetting(configuration, 'keys'));
    const keys = known?.root.digest === read.root.digest ? known : read;
    known = keys;
    const layout = requireSetting(configuration, 'layout');
    const stored = await readAlarmFacts(store.db, receivers, now);
    const channels = channelsOf(stored.agents.map((channel) => ({ channel })));
    const desired = await readDesired(layout, channels, keys.root, signal);
    const ends = await readEnds({
      keys,
      db: store.db,
      layout,
      desired,
      channels,
      certificateFile: configuration.tlsCertFile,
    });
    const alarms = deriveAlarms({
      ...stored,
      now,
      desired,
      ends,
      trouble: describeTrouble(options.trouble?.()),
      auditFault: await findAuditFault({ store, keys, layout }),
    });
    const { opened, over } = await keepAlarms(store, alarms, { now });
    for (const { id, kind, severity, subject, since, summary } of opened)
      log.warn({ alarm: id, kind, severity, ...subject, since, why: summary }, 'alarm');
    for (const { id, kind, summary } of over) log.info({ alarm: id, kind, why: summary }, 'alarm over');
    await forgetAlarms(store, receivers, now);
    return opened.length > 0 || over.length > 0;
  };
};

/** Codes that say that the log is not what it was; others, such as IO, say nothing about it. */
const CHANGED = [
  'AUDIT_TRUNCATED',
  'AUDIT_CHAIN',
  'AUDIT_CHECKPOINT',
  'UNSIGNED',
  'UNKNOWN_KEY',
  'BAD_SIGNATURE',
];

const findAuditFault = async (office: Parameters<typeof rememberHead>[0]): Promise<string | undefined> => {
  try {
    await rememberHead(office);
  } catch (error) {
    const { code, message } = toFleetError(error, 'reading the audit log');
    if (CHANGED.includes(code)) return `${code}: ${message}`;
  }
  return undefined;
};

const describeTrouble = (trouble: ReturnType<Watch['trouble']>): AlarmFacts['trouble'] =>
  trouble && { since: trouble.since, message: `${trouble.error.code}: ${trouble.error.message}` };
