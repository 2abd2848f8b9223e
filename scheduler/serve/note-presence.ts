import type { Logger } from 'pino';
import { toFleetError } from '#bundles/errors';
import { formatTime, type Timestamp } from '#bundles/time';
import type { Store } from '../hub/store/open-store.ts';

/** Who was there, until it is written down. */
export type Presence = {
  /** @param id '<site>/<agent>', whose certificate was seen */
  readonly heard: (id: string) => void;
  /** Writes down whom it heard since; what could not be written is kept for the next time. Does not throw. */
  readonly flush: () => Promise<void>;
};

/**
 * Thousands of agents say every few minutes that they are there, and a commit waits for the disk: so all of a while are one
 * commit. What a hub that dies forgets, the agents say again.
 */
export const notePresence = (store: Store, clock: () => Date, log: Logger): Presence => {
  let heard = new Map<string, Timestamp>();
  return {
    heard: (id) => void heard.set(id, formatTime(clock())),
    flush: async () => {
      if (heard.size === 0) return;
      const batch = heard;
      heard = new Map();
      try {
        await write(store, batch);
      } catch (cause) {
        // Whoever was heard meanwhile was heard later.
        heard = new Map([...batch, ...heard]);
        const { code, message } = toFleetError(cause, 'noting who is there');
        log.warn({ code, why: message, agents: heard.size }, 'presence not noted yet');
      }
    },
  };
};

const write = (store: Store, batch: ReadonlyMap<string, Timestamp>): Promise<void> =>
  store.transact(async (tx) => {
    for (const [id, at] of batch) {
      await tx.updateTable('agent').set({ heard_at: at, online_at: at }).where('id', '=', id).execute();
    }
  });
