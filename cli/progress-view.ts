import type { PhaseState } from './progress-meter.ts';

/** How progress is shown. */
export type ProgressView = {
  /** Milliseconds between two looks, and before the first. */
  readonly every: number;
  readonly show: (state: PhaseState) => void;
  readonly end: (state: PhaseState) => void;
};
