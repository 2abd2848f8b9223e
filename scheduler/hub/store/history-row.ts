import type { Digest } from '#bundles/digest';
import type { Timestamp } from '#bundles/time';

/**
 * Field of an agent's history. For an assignment: `package` (digest), `values` (digest of the site values), `health` and
 * `drift` (a word, see facts.ts). For the agent: `release` (the newest accepted one), `values`, and `hold` (whether a person on
 * site holds it back).
 */
export type HistoryField = 'package' | 'values' | 'health' | 'drift' | 'release' | 'hold';

/**
 * A value that differs from the one before it, or did so when a report was stored. Rows are never changed or deleted: a late
 * report adds rows. The previous value is in the row with the next smaller `life` and `seq`.
 */
export type HistoryRow = {
  /** '<site>/<agent>' */
  readonly agent: string;
  /** Empty: of the agent itself. */
  readonly assignment: string;
  readonly field: HistoryField;
  readonly life: number;
  /** The event that it comes from, with `agent` and `life`. */
  readonly seq: number;
  /** null: nothing, for example no package. */
  readonly value: string | null;
  /** The event's time, at most the time of receipt, so that a clock that runs ahead does not put events into the future. */
  readonly observed_at: Timestamp;
  readonly received_at: Timestamp;
  readonly report: Digest;
};
