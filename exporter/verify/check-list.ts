import type { Digest } from '#bundles/digest';
import { type ErrorCode, formatError, isFleetError } from '#bundles/errors';
import { formatTime, type Timestamp } from '#bundles/time';

/** What one check came to, for people and for who looks at it again. */
export type Finding = {
  readonly message: string;
  /** What was looked at: statements by the digest of their payload, bundles, roots. */
  readonly digests?: readonly Digest[];
  /** Fingerprints of the keys that vouch for it. */
  readonly keys?: readonly string[];
};

/** One thing that was looked at, and what came of it. */
export type Check = Required<Finding> & {
  readonly what: string;
  readonly ok: boolean;
  readonly at: Timestamp;
  readonly code?: ErrorCode;
  /** What to do, with which `message` ends. */
  readonly hint?: string;
};

/** Collects checks: a refusal is a result here and not the end. */
export type CheckList = {
  readonly checks: readonly Check[];
  /** Runs one and says what was found when all is well. Undefined when it was refused. */
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
        // The machine's own troubles are not the medium's.
        if (!isFleetError(error) || error.code === 'ABORTED' || error.exitCode === 1) throw error;
        const { code, hint } = error;
        const message = formatError(error);
        const said = { ok: false, message, code, ...(hint !== undefined && { hint }) };
        checks.push({ what, ...said, digests: [], keys: [], at: formatTime(clock()) });
        return undefined;
      }
    },
  };
};
