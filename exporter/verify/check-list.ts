import { defined } from '#bundles/defined';
import type { Digest } from '#bundles/digest';
import { type ErrorCode, formatError, isFleetError } from '#bundles/errors';
import { formatTime, type Timestamp } from '#bundles/time';

/** The result of one check. */
export type Finding = {
  readonly message: string;
  /** Digests of the checked documents: statements by their payload, bundles, roots. */
  readonly digests?: readonly Digest[];
  /** Fingerprints of the keys that signed it. */
  readonly keys?: readonly string[];
};

/** One check and its outcome. */
export type Check = Required<Finding> & {
  readonly what: string;
  readonly ok: boolean;
  readonly at: Timestamp;
  readonly code?: ErrorCode;
  /** Hint; the end of `message`. */
  readonly hint?: string;
};

/** Collects checks. A refusal is a result and does not stop the following checks. */
export type CheckList = {
  readonly checks: readonly Check[];
  /** Runs one check and returns its value; undefined if it was refused. */
  readonly check: <T>(
    what: string,
    run: () => Promise<T>,
    say: (value: T) => string | Finding | Promise<Finding>,
  ) => Promise<T | undefined>;
};

export const checkList = (clock: () => Date): CheckList => {
  const checks: Check[] = [];
  return {
    checks,
    check: async (what, run, say) => {
      try {
        const value = await run();
        const said = await say(value);
        const { message, digests = [], keys = [] } = typeof said === 'string' ? { message: said } : said;
        checks.push({ what, ok: true, message, digests, keys, at: formatTime(clock()) });
        return value;
      } catch (error) {
        // Errors of this machine are no result about the medium.
        if (!isFleetError(error) || error.code === 'ABORTED' || error.exitCode === 1) throw error;
        const { code, hint } = error;
        const message = formatError(error);
        const said = defined({ ok: false, message, code, hint });
        checks.push({ what, ...said, digests: [], keys: [], at: formatTime(clock()) });
        return undefined;
      }
    },
  };
};
