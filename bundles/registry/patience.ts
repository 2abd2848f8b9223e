import { setTimeout as sleepFor } from 'node:timers/promises';
import { FleetError } from '../errors.ts';
import type { RegistryOptions } from './registry.ts';
import { newStamina, type Stamina } from './stamina.ts';

/** Times a thing is tried in all unless said, and milliseconds: 0.5, 1, 2, 4 s in between, each up to half as long again. */
const TRIES = 5;
const FIRST_DELAY = 500;
/** A registry may ask for more patience, but not for a standstill. */
const MAX_DELAY = 60_000;
/** In all, where it lets somebody through from time to time: without an end it would hold a command for days. */
const MAX_ASKED_MINUTES = 60;

/** How often one thing is tried again. */
export type Patience = {
  /**
   * Waits for the next try; false when there are none left. @param asked milliseconds the registry asked for
   * @param host who is waited for: it may be a token server, or where blobs are stored
   * @throws FleetError REGISTRY_UNREACHABLE when it has asked for too much in all
   */
  readonly wait: (
    asked: number | undefined,
    signal: AbortSignal | undefined,
    host?: string,
  ) => Promise<boolean>;
  /** It got further: all tries are there again. */
  readonly renew: () => void;
};

/** @param stamina that of all requests to the same registry */
export const newPatience = (
  {
    sleep = defaultSleep,
    random = Math.random,
    onWait,
    tries = TRIES,
    firstDelay = FIRST_DELAY,
  }: RegistryOptions,
  stamina: Stamina = newStamina(),
): Patience => {
  let failures = 0;
  let since = 0;
  stamina.begun();
  return {
    wait: async (asked, signal, host) => {
      failures++;
      stamina.failed();
      if (failures === 1) since = stamina.moves();
      if (failures >= tries) stamina.exhausted(since);
      if (failures >= tries || stamina.isOver()) return false;
      const delay = Math.max(asked ?? 0, firstDelay * 2 ** (failures - 1));
      // Jitter also on what was asked for: a thousand agents were told the same second.
      const ms = Math.min(MAX_DELAY, Math.round(delay * (1 + random() / 2)));
      if (asked !== undefined && stamina.asked(ms) > MAX_ASKED_MINUTES * 60_000) throw askedTooMuch(host);
      onWait?.({ ms, asked: asked !== undefined, host });
      await sleep(ms, signal);
      return true;
    },
    renew: () => {
      failures = 0;
    },
  };
};

const askedTooMuch = (host = 'the registry'): FleetError =>
  new FleetError(
    'REGISTRY_UNREACHABLE',
    `${host} has asked to be waited for again and again, for ${MAX_ASKED_MINUTES} minutes in all`,
    { hint: 'Run it again later, what has arrived is kept; whoever runs the registry knows its limits' },
  );

const defaultSleep = async (ms: number, signal?: AbortSignal): Promise<void> => {
  await sleepFor(ms, undefined, signal ? { signal } : {});
};

/**
 * Milliseconds that Retry-After asks for (RFC 9110 section 10.2.3). A date is measured against the answer's own Date,
 * as the clock here may be wrong by years.
 */
export const retryAfter = (header: (name: string) => string | undefined): number | undefined => {
  const text = header('retry-after')?.trim() ?? '';
  if (/^[0-9]{1,9}$/.test(text)) return Number(text) * 1000;
  const delay = Date.parse(text) - Date.parse(header('date') ?? '');
  return Number.isFinite(delay) ? Math.max(0, delay) : undefined;
};
