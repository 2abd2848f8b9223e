import { plainText } from '#bundles/errors';
import type { PhaseState } from './progress-meter.ts';
import type { ProgressView } from './progress-view.ts';

type Options = {
  readonly stream: NodeJS.WritableStream;
  /** Milliseconds between two lines, and before the first. */
  readonly every: number;
  /** Shorter work still gets its last line. */
  readonly always: boolean;
};

/** Shows progress as JSON lines, for programs that start this one. */
export const progressLines = ({ stream, every, always }: Options): ProgressView => {
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
  ...(waiting !== undefined && { waiting }),
});
