import { FleetError } from '#bundles/errors';

/** A request that was admitted and may send its body. */
export type Place = {
  /** Releases the place. Later calls do nothing. */
  readonly leave: () => void;
  /** To be called when the body has arrived. From then on the place is not withdrawn. */
  readonly arrived: () => void;
  /** Aborts if the body arrives too slowly while others wait. The reason is a FleetError BUSY. */
  readonly signal: AbortSignal;
};

/** Bounds the total bytes of request bodies in memory or in transit. */
export type Admission = {
  /** Waits for a place. @param who id of the caller @param bytes maximum size of the body @throws FleetError BUSY */
  readonly enter: (who: string, bytes: number) => Promise<Place>;
  /** Number of admitted requests; below: of waiting ones, and the bytes of the admitted ones. */
  readonly inside: () => number;
  readonly waiting: () => number;
  readonly bytes: () => number;
};

export type AdmissionLimits = {
  /** For all admitted requests. A larger one is admitted only when there is no other. */
  readonly bytes: number;
  /** Requests per caller, admitted and waiting. */
  readonly each: number;
  readonly queue: number;
  readonly waitMs: number;
  /** A body that takes longer than this to arrive is aborted if others wait. */
  readonly slowMs: number;
};

type Guest = { readonly since: number; readonly bytes: number; readonly makeRoom: () => void };

/**
 * Limits request bodies in memory: 4 MiB reports from a whole fleet that reconnects at once would not fit. The body of a
 * waiting request is not read, so TCP flow control holds it back.
 */
export const createAdmission = ({ bytes: most, each, queue, waitMs, slowMs }: AdmissionLimits): Admission => {
  const counts = new Map<string, number>();
  const line: { readonly bytes: number; readonly go: () => void }[] = [];
  /** Requests whose bodies are still arriving, oldest first. */
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

  /** Aborts only the oldest slow request: the bytes it frees may be enough. */
  const evictOldest = (): void => {
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
    looking ??= setInterval(evictOldest, LOOK_MS).unref();
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
      if (mine >= each) throw busy(`${who} has ${mine} requests open already`);
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
