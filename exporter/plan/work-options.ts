import type { Phase } from '#cli/progress-meter';

/** How long work is observed and stopped. */
export type WorkOptions = {
  /** Called when a phase of the work begins, for a progress bar. */
  readonly onPhase?: (phase: Phase) => void;
  /** Called with the bytes of the phase that are done. */
  readonly onBytes: (bytes: number) => void;
  readonly signal?: AbortSignal;
};
