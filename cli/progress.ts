import { defined } from '#bundles/defined';
import { progressBar } from './progress-bar.ts';
import type { ProgressMode } from './flags.ts';
import { createMeter, type Phase, type PhaseState, type ProgressMeter } from './progress-meter.ts';
import type { ProgressView } from './progress-view.ts';
import { plainText } from '#bundles/errors';

/** Receives the progress of a long operation. */
export type Progress = {
  /** Begins a phase and ends the previous one. */
  readonly begin: (phase: Phase) => void;
  /** In the unit of the phase. */
  readonly advance: (amount: number) => void;
  /** A pause in milliseconds, with its reason: 'registry.example asks to wait, 20 s'. */
  readonly wait: (why: string, ms: number) => void;
  /** Ends the phase without a next one: the display does not overwrite later output. */
  readonly end: () => void;
};

type Stream = NodeJS.WritableStream & { readonly isTTY?: boolean | undefined };

/** Milliseconds between two JSON lines: with --progress json, and by default, where only long work gets a line. */
const PROGRESS_MS = 1000;
const TERMINAL_FREE_MS = 5000;

/**
 * Shows the progress of a long operation on standard error: a bar on a terminal, JSON lines elsewhere.
 * @param now milliseconds of a monotonic clock
 */
export const openProgress = (
  mode: ProgressMode,
  { stream = process.stderr, now = () => performance.now() }: { stream?: Stream; now?: () => number } = {},
): Progress & Disposable => {
  const view = viewOf(mode, stream);
  if (!view) return { ...NO_PROGRESS, [Symbol.dispose]: () => {} };
  let meter: ProgressMeter | undefined;
  const timer = setInterval(() => {
    if (meter) view.show(meter.state());
  }, view.every);
  timer.unref();
  const end = (): void => {
    if (meter) view.end(meter.state());
    meter = undefined;
  };
  return {
    begin: (phase) => {
      end();
      meter = createMeter(phase, now);
    },
    advance: (amount) => meter?.advance(amount),
    wait: (why, ms) => meter?.wait(why, ms),
    end,
    [Symbol.dispose]: () => {
      clearInterval(timer);
      end();
    },
  };
};

/** Ignores all progress. */
export const NO_PROGRESS: Progress = { begin: () => {}, advance: () => {}, wait: () => {}, end: () => {} };

const viewOf = (mode: ProgressMode, stream: Stream): ProgressView | undefined => {
  switch (mode) {
    case 'none':
      return undefined;
    case 'bar':
      return progressBar(stream);
    case 'json':
      return progressLines({ stream, every: PROGRESS_MS, always: true });
    case 'auto':
      return stream.isTTY === true
        ? progressBar(stream)
        : progressLines({ stream, every: TERMINAL_FREE_MS, always: false });
  }
};

type Options = {
  readonly stream: NodeJS.WritableStream;
  /** Milliseconds between two lines, and before the first. */
  readonly every: number;
  /** Shorter work still gets its last line. */
  readonly always: boolean;
};

/** Shows progress as JSON lines, for programs that start this one. */
const progressLines = ({ stream, every, always }: Options): ProgressView => {
  let shown: PhaseState['phase'] | undefined;
  const show = (state: PhaseState): void => {
    shown = state.phase;
    stream.write(`${plainText(JSON.stringify(lineOf(state)))}\n`);
  };
  return {
    every,
    show,
    end: (state) => {
      if (always || shown === state.phase) show(state);
    },
  };
};

const lineOf = ({ phase, done, perSecond, secondsLeft, waiting }: PhaseState) => ({
  phase: phase.name,
  done,
  total: phase.total,
  ...(phase.unit === 'blobs'
    ? { unit: phase.unit, perSecond: perSecond ?? null }
    : { bytesPerSecond: perSecond ?? null }),
  secondsLeft: secondsLeft ?? null,
  ...defined({ waiting }),
});
