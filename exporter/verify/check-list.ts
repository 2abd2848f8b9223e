import { type ErrorCode, formatError, isFleetError } from '#bundles/errors';

/** One thing that was looked at, and what came of it. */
export type Check = {
  readonly what: string;
  readonly ok: boolean;
  /** What was found, or why it is refused. */
  readonly message: string;
  readonly code?: ErrorCode;
};

/** Collects checks: a refusal is a result here and not the end. */
export type CheckList = {
  readonly checks: readonly Check[];
  /** Runs one; its text is the message when all is well. Undefined when it was refused. */
  readonly check: <T>(
    what: string,
    run: () => Promise<T>,
    say: (value: T) => string,
  ) => Promise<T | undefined>;
};

export const checkList = (): CheckList => {
  const checks: Check[] = [];
  return {
    checks,
    check: async (what, run, say) => {
      try {
        const value = await run();
        checks.push({ what, ok: true, message: say(value) });
        return value;
      } catch (error) {
        // The machine's own troubles are not the medium's.
        if (!isFleetError(error) || error.code === 'ABORTED' || error.exitCode === 1) throw error;
        checks.push({ what, ok: false, message: formatError(error), code: error.code });
        return undefined;
      }
    },
  };
};
