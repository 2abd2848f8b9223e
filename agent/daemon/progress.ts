/** Deadline that a loop sets for itself, so that a watchdog can tell slow work from work that hangs. */
export type Progress = {
  /** The next call comes within so many milliseconds. */
  readonly within: (ms: number) => void;
  /** False when a call is overdue. */
  readonly isMade: () => boolean;
};

/** @param elapsedMs monotonic clock: a wall clock that is set makes nothing overdue */
export const createProgress = (elapsedMs: () => number = () => performance.now()): Progress => {
  let deadline = Number.POSITIVE_INFINITY;
  return {
    within: (ms) => {
      deadline = elapsedMs() + ms;
    },
    isMade: () => elapsedMs() <= deadline,
  };
};

/** Longest look without a step that applies something, and longest start. */
export const LOOK_MS = 3_600_000;
/** Longest step: dpkg and Ansible have limits of their own, of up to a day. */
export const STEP_MS = 25 * 3_600_000;
/** Tolerance for the end of a rest. */
export const SLACK_MS = 300_000;
