import { FleetError } from '#bundles/errors';

/** How many may be inside at once, and how long others wait outside. */
export type Admission = {
  /** @returns what lets the next one in; calling it twice is calling it once @throws FleetError BUSY */
  readonly enter: (who: string) => Promise<() => void>;
  readonly inside: () => number;
  readonly waiting: () => number;
};

export type AdmissionLimits = {
  readonly places: number;
  /** Of one agent, inside and waiting. */
  readonly each: number;
  readonly queue: number;
  readonly waitMs: number;
};

/**
 * Reports of four megabytes from a whole fleet that comes back at once would not fit into memory: who has to wait has not
 * sent its body yet, so the network holds it.
 */
export const createAdmission = ({ places, each, queue, waitMs }: AdmissionLimits): Admission => {
  const counts = new Map<string, number>();
  const line: (() => void)[] = [];
  let inside = 0;

  const leave = (who: string): void => {
    const left = (counts.get(who) ?? 1) - 1;
    if (left === 0) counts.delete(who);
    else counts.set(who, left);
  };

  const next = (): void => {
    const first = line.shift();
    if (first) first();
    else inside -= 1;
  };

  return {
    enter: async (who) => {
      const mine = counts.get(who) ?? 0;
      if (mine >= each) throw busy(`${who} is already handing over ${mine} reports`);
      if (inside >= places && line.length >= queue) throw busy('too many reports arrive at once');
      counts.set(who, mine + 1);
      try {
        if (inside < places) inside += 1;
        else await standInLine(line, waitMs);
      } catch (error) {
        leave(who);
        throw error;
      }
      let gone = false;
      return () => {
        if (gone) return;
        gone = true;
        leave(who);
        next();
      };
    },
    inside: () => inside,
    waiting: () => line.length,
  };
};

const standInLine = (line: (() => void)[], waitMs: number): Promise<void> => {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const timer = setTimeout(() => {
    line.splice(line.indexOf(turn), 1);
    reject(busy('too many reports arrive at once'));
  }, waitMs);
  const turn = (): void => {
    clearTimeout(timer);
    resolve();
  };
  line.push(turn);
  return promise;
};

const busy = (message: string): FleetError =>
  new FleetError('BUSY', message, { hint: 'Try again a little later; nothing is lost' });
