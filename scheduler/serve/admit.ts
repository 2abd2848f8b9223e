import { FleetError } from '#bundles/errors';

/** A request that was let in with its body. */
export type Place = {
  /** Gives the place back; a second call does nothing. */
  readonly leave: () => void;
  /** The body has arrived: from here on the hub works on it, and the place cannot be taken away. */
  readonly arrived: () => void;
  /** Aborts when the body is too slow while others wait. Its reason is a FleetError BUSY. */
  readonly signal: AbortSignal;
};

/** Bounds the bytes of bodies that are in memory at once, or on their way. */
export type Admission = {
  /** @param bytes that the body may have @throws FleetError BUSY */
  readonly enter: (who: string, bytes: number) => Promise<Place>;
  /** Requests inside and waiting, and the bytes of those inside. */
  readonly inside: () => number;
  readonly waiting: () => number;
  readonly bytes: () => number;
};

export type AdmissionLimits = {
  /** Of all that are inside. One larger than that is alone. */
  readonly bytes: number;
  /** Requests of one caller, inside and waiting. */
  readonly each: number;
  readonly queue: number;
  readonly waitMs: number;
  /** A body that is not here after this time makes room when others wait. */
  readonly slowMs: number;
};

type Guest = { readonly since: number; readonly bytes: number; readonly makeRoom: () => void };

/**
 * Reports of four megabytes from a whole fleet that comes back at once would not fit into memory. The body of one that has to
 * wait has not been read yet, so the network holds it.
 */
export const createAdmission = ({ bytes: most, each, queue, waitMs, slowMs }: AdmissionLimits): Admission => {
  const counts = new Map<string, number>();
  const line: { readonly bytes: number; readonly go: () => void }[] = [];
  /** Whose bodies are still arriving, the oldest first. */
  const arriving = new Set<Guest>();
  let inside = 0;
  let used = 0;
  let looking: NodeJS.Timeout | undefined;

  const fits = (bytes: number): boolean => inside === 0 || used + bytes <= most;

  const take = (bytes: number): void => {
    inside += 1;
    used += bytes;
  };

  const letIn = (): void => {
    for (let [first] = line; first && fits(first.bytes); [first] = line) {
      line.shift();
      take(first.bytes);
      first.go();
    }
    if (line.length > 0) return;
    clearInterval(looking);
    looking = undefined;
  };

  /** One at a time: what it held may be enough. */
  const makeRoom = (): void => {
    const [oldest] = arriving;
    if (!oldest || performance.now() - oldest.since < slowMs) return;
    arriving.delete(oldest);
    oldest.makeRoom();
  };

  const standInLine = (bytes: number): Promise<void> => {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const turn = {
      bytes,
      go: () => {
        clearTimeout(timer);
        resolve();
      },
    };
    const timer = setTimeout(() => {
      line.splice(line.indexOf(turn), 1);
      reject(busy('too many requests arrive at once'));
      letIn();
    }, waitMs);
    line.push(turn);
    looking ??= setInterval(makeRoom, LOOK_MS).unref();
    return promise;
  };

  const forget = (who: string): void => {
    const left = (counts.get(who) ?? 1) - 1;
    if (left === 0) counts.delete(who);
    else counts.set(who, left);
  };

  const settle = (who: string, bytes: number): Place => {
    const slow = new AbortController();
    const guest: Guest = {
      since: performance.now(),
      bytes,
      makeRoom: () => slow.abort(busy('the request arrives too slowly while others wait')),
    };
    arriving.add(guest);
    let gone = false;
    return {
      arrived: () => arriving.delete(guest),
      signal: slow.signal,
      leave: () => {
        if (gone) return;
        gone = true;
        arriving.delete(guest);
        forget(who);
        inside -= 1;
        used -= bytes;
        letIn();
      },
    };
  };

  return {
    enter: async (who, bytes) => {
      const mine = counts.get(who) ?? 0;
      if (mine >= each) throw busy(`${who} is already handing over ${mine} requests`);
      const isFree = line.length === 0 && fits(bytes);
      if (!isFree && line.length >= queue) throw busy('too many requests arrive at once');
      counts.set(who, mine + 1);
      if (isFree) take(bytes);
      else
        await standInLine(bytes).catch((error: unknown) => {
          forget(who);
          throw error;
        });
      return settle(who, bytes);
    },
    inside: () => inside,
    waiting: () => line.length,
    bytes: () => used,
  };
};

const LOOK_MS = 500;

const busy = (message: string): FleetError =>
  new FleetError('BUSY', message, { hint: 'Try again a little later; nothing is lost' });
