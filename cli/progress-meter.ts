/** A phase of a long operation. */
export type Phase = {
  /** Name of the phase, for people and for scripts: 'writing', 'reading back'. */
  readonly name: string;
  /** Amount of work; 0 if it is unknown. */
  readonly total: number;
  readonly unit?: 'bytes' | 'blobs';
  /** How often each byte is counted: 2 where written bytes are read back. 1 by default. */
  readonly passes?: number;
};

/** The progress of a phase. */
export type PhaseState = {
  readonly phase: Phase;
  /** In the unit of the phase, never more than its total. */
  readonly done: number;
  readonly perSecond: number | undefined;
  readonly secondsLeft: number | undefined;
  /** Why no progress is made. */
  readonly waiting: string | undefined;
};

export type ProgressMeter = {
  readonly advance: (amount: number) => void;
  readonly wait: (why: string, ms: number) => void;
  readonly state: () => PhaseState;
};

/** Milliseconds: the rate is an average over the last ten seconds, in steps of half a second. */
const STEP = 500;
const STEPS = 20;

/** @param now milliseconds of a monotonic clock */
export const createMeter = (phase: Phase, now: () => number): ProgressMeter => {
  const passes = phase.passes ?? 1;
  let moved = 0;
  let pause: { readonly why: string; readonly until: number } | undefined;
  const samples = [{ at: now(), moved: 0 }];

  const rate = (): number | undefined => {
    const [oldest] = samples;
    const elapsed = oldest ? now() - oldest.at : 0;
    return oldest && elapsed >= STEP ? ((moved - oldest.moved) / elapsed) * 1000 : undefined;
  };

  return {
    advance: (amount) => {
      moved += amount;
      pause = undefined;
      const at = now();
      if (at - (samples.at(-1)?.at ?? 0) < STEP) return;
      samples.push({ at, moved });
      if (samples.length > STEPS) samples.shift();
    },
    wait: (why, ms) => {
      pause = { why, until: now() + ms };
    },
    state: () => {
      const perSecond = rate();
      const left = phase.total * passes - moved;
      return {
        phase,
        done: Math.min(Math.floor(moved / passes), phase.total || Number.POSITIVE_INFINITY),
        perSecond: perSecond === undefined ? undefined : Math.round(perSecond / passes),
        secondsLeft: perSecond && phase.total > 0 ? Math.ceil(Math.max(0, left) / perSecond) : undefined,
        waiting: pause && now() < pause.until ? pause.why : undefined,
      };
    },
  };
};
