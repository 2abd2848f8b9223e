import { setTimeout as sleep } from 'node:timers/promises';
import { isFleetError } from '#bundles/errors';
import type { Hub } from '../hub.ts';
import { openReleases } from '../questions/history/read-releases.ts';
import { readDesired } from '../questions/state/read-desired.ts';

/** How long a hub with very many releases waits for them before it listens. It reads on meanwhile. */
const MOST_MS = 5_000;

/**
 * Reads and verifies the releases in the layout, so that the first question after a start does not wait for them. A release that cannot be
 * read is reported by the questions about it.
 */
export const readAhead = async (hub: Pick<Hub, 'keys' | 'layout'>): Promise<void> => {
  const waiting = new AbortController();
  const late = sleep(MOST_MS, undefined, { signal: waiting.signal, ref: false }).catch(() => {});
  await Promise.race([readAll(hub), late]);
  waiting.abort();
};

const readAll = async (hub: Pick<Hub, 'keys' | 'layout'>): Promise<void> => {
  const releases = await orNothing(openReleases(hub));
  for (const channel of releases?.channels() ?? []) {
    await readDesired(hub.layout, [channel], hub.keys.root);
    await orNothing(releases?.of(channel));
  }
};

const orNothing = async <T>(read: Promise<T> | undefined): Promise<T | undefined> => {
  try {
    return await read;
  } catch (error) {
    if (isFleetError(error)) return undefined;
    throw error;
  }
};
