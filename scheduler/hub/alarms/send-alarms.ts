import type { Logger } from 'pino';
import { durationMs } from '#bundles/duration';
import { toFleetError } from '#bundles/errors';
import { pauseMs } from '#bundles/retry';
import { formatTime } from '#bundles/time';
import type { AlarmSettings, ReceiverSettings } from '../../settings/alarm-settings.ts';
import type { Store } from '../store/open-store.ts';
import { alertmanager } from './alertmanager.ts';
import { email } from './email.ts';
import { readOpenAlarms } from './keep-alarms.ts';
import { type AlarmSentRow, isPaused, type Notice, pendingNotices, refusedOf, sentOf } from './notice.ts';
import { NOT_HANDLED, readHandling } from './read-handling.ts';
import type { Access, Carrier, Outcome } from './receiver.ts';
import { webhook } from './webhook.ts';

/** Pauses after failures of a receiver. They are stored, so that a restart does not begin anew. */
const RETRY = { firstMs: 10_000, longestMs: 15 * 60_000, jitter: 'around' } as const;
/** Pauses after refusals of one notice: what is wrong with it, or with the receiver's rules, may take hours to be corrected. */
const REFUSED = { firstMs: 60_000, longestMs: 6 * 3_600_000, jitter: 'around' } as const;
const REPEAT = '24h';

export type SenderOptions = {
  readonly store: Store;
  readonly access: Access;
  readonly clock: () => Date;
  readonly random: () => number;
  readonly log: Pick<Logger, 'info' | 'warn' | 'error'>;
  readonly onDelivered?: (receiver: string, result: Outcome['kind'], count: number) => void;
};

/**
 * Sends one receiver the notices that it does not have yet, at each call. Each accepted message is stored, so that after a kill
 * nothing is lost and at most the current message is sent again, with the same id. A receiver that fails is logged and tried again after a
 * pause.
 */
export const createAlarmSender = (
  receiver: ReceiverSettings,
  settings: Pick<AlarmSettings, 'repeat'>,
  options: SenderOptions,
) => {
  const { store, clock, log, onDelivered } = options;
  const { name, severity = 'warning', environments, workspaces } = receiver;
  const carrier = carrierOf(receiver, options.access);
  const repeatMs = carrier.repeatMs ?? durationMs(receiver.repeat ?? settings.repeat ?? REPEAT);

  const tell = async (signal: AbortSignal): Promise<void> => {
    const failing = await readFailing(store, name);
    if (isPaused(failing?.next_at, clock())) return;
    const rows = await readOpenAlarms(store.db);
    const sent = new Map((await readSent(store, name)).map((row) => [row.alarm, row]));
    const filter = { severity, environments, workspaces };
    const now = clock();
    const handling = carrier.silences === 'own' ? NOT_HANDLED : await readHandling(store.db, now);
    const notices = pendingNotices(filter, rows, sent, { now, repeatMs, handling });
    for (let start = 0; start < notices.length && !signal.aborted; start += carrier.batch) {
      const part = notices.slice(start, start + carrier.batch);
      const outcome = await carrier
        .deliver(part, { fleet: store.fleet, now: clock(), signal })
        .catch((error: unknown): Outcome => {
          signal.throwIfAborted();
          return { kind: 'unreachable', message: toFleetError(error, `sending alarms to ${name}`).message };
        });
      onDelivered?.(name, outcome.kind, part.length);
      if (outcome.kind === 'unreachable') return await noteFailure(outcome.message);
      if (outcome.kind === 'refused')
        log.warn({ receiver: name, alarms: part.map(({ id }) => id), why: outcome.message }, 'alarm refused');
      await remember(part, sent, outcome.kind === 'refused' ? outcome.message : undefined);
    }
  };

  /** @param refusal why the receiver refused the message; undefined: it took it */
  const remember = (
    part: readonly Notice[],
    sent: ReadonlyMap<string, AlarmSentRow>,
    refusal: string | undefined,
  ): Promise<void> =>
    store.transact(async (tx) => {
      const now = clock();
      const pause = (refusals: number): number => pauseMs(REFUSED, refusals, options.random);
      for (const notices of part) {
        const row =
          refusal === undefined
            ? sentOf(name, notices, now)
            : refusedOf(name, notices, sent.get(notices.alarm.id), { message: refusal, now, pauseMs: pause });
        if (row)
          await tx
            .insertInto('alarm_sent')
            .values(row)
            .onConflict((conflict) => conflict.columns(['receiver', 'alarm']).doUpdateSet(row))
            .execute();
        else
          await tx
            .deleteFrom('alarm_sent')
            .where('receiver', '=', name)
            .where('alarm', '=', notices.alarm.id)
            .execute();
      }
      await tx.deleteFrom('alarm_receiver').where('name', '=', name).execute();
    });

  const noteFailure = async (message: string): Promise<void> => {
    const now = clock();
    const before = await readFailing(store, name);
    const failures = (before?.failures ?? 0) + 1;
    const row = {
      name,
      failing_since: before?.failing_since ?? formatTime(now),
      failures,
      next_at: formatTime(new Date(now.getTime() + pauseMs(RETRY, failures, options.random))),
      message,
    };
    await store.transact((tx) =>
      tx
        .insertInto('alarm_receiver')
        .values(row)
        .onConflict((conflict) => conflict.column('name').doUpdateSet(row))
        .execute(),
    );
    if (message !== before?.message) log.warn({ receiver: name, why: message }, 'alarms not delivered');
  };

  return tell;
};

/** The carrier of the notices of a receiver. */
export const carrierOf = (receiver: ReceiverSettings, access: Access): Carrier => {
  if (receiver.webhook) return webhook(receiver.webhook, access);
  if (receiver.email) return email(receiver.email, access);
  if (receiver.alertmanager) return alertmanager(receiver.alertmanager, access);
  throw new Error(`${receiver.name} is not a receiver`);
};

const readFailing = ({ db }: Store, name: string) =>
  db.selectFrom('alarm_receiver').selectAll().where('name', '=', name).executeTakeFirst();

const readSent = ({ db }: Store, name: string): Promise<readonly AlarmSentRow[]> =>
  db.selectFrom('alarm_sent').selectAll().where('receiver', '=', name).execute();
