import type { Logger } from 'pino';
import { defined } from '#bundles/defined';
import { toFleetError } from '#bundles/errors';
import { PRESENCE_MS } from '#bundles/formats/events/hub-api';
import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import type { DescribedTimes } from '../ingest/reports/described-times.ts';
import type { Store } from '../store/open-store.ts';

/** Collects which agents were heard, until the next write to the database. */
export type Presence = {
  /**
   * @param id '<site>/<agent>', authenticated by its certificate
   * @param said the times that it described; undefined: it said nothing about what runs
   */
  readonly heard: (id: string, said?: DescribedTimes) => void;
  /** Writes the collected agents. If that fails, they are kept for the next call. Does not throw. */
  readonly flush: () => Promise<void>;
};

/**
 * Batches presence messages: thousands of agents send one every few minutes, and every commit waits for the disk. A hub that
 * is killed loses the current batch; the agents send their presence again.
 */
export const notePresence = (store: Store, clock: () => Date, log: Logger): Presence => {
  let heard = new Map<string, Heard>();
  return {
    heard: (id, said) => {
      const at = formatTime(clock());
      heard.set(id, { ...heard.get(id), at, ...defined({ said }) });
    },
    flush: async () => {
      if (heard.size === 0) return;
      const batch = heard;
      heard = new Map();
      try {
        await write(store, batch);
      } catch (cause) {
        // Agents heard since the batch was taken keep their later time.
        heard = new Map([...batch, ...heard]);
        const { code, message } = toFleetError(cause, 'noting who is there');
        log.warn({ code, why: message, agents: heard.size }, 'presence not noted yet');
      }
    },
  };
};

type Heard = { readonly at: Timestamp; readonly said?: DescribedTimes };

const write = (store: Store, batch: ReadonlyMap<string, Heard>): Promise<void> =>
  store.transact(async (tx) => {
    for (const [id, { at, said }] of batch) {
      await tx
        .updateTable('agent')
        .set({ heard_at: at, online_at: at })
        .where('id', '=', id)
        // Another replica may have written a later one; one far ahead is of a clock that has been set back since.
        .where((eb) =>
          eb.or([
            eb('online_at', 'is', null),
            eb('online_at', '<', at),
            eb('online_at', '>', futureLimit(at)),
          ]),
        )
        .execute();
      if (!said) continue;
      await tx
        .updateTable('agent')
        .set(said)
        .where('id', '=', id)
        .where((eb) =>
          eb.or([
            eb('said_at', 'is', null),
            eb('said_at', '<=', said.said_at ?? at),
            eb('said_at', '>', futureLimit(at)),
          ]),
        )
        .execute();
    }
  });

const futureLimit = (at: Timestamp): Timestamp => formatTime(new Date(parseTime(at).getTime() + PRESENCE_MS));
