import { setTimeout as sleep } from 'node:timers/promises';
import type { CheckResult } from '../../../model/target.ts';

const RETRY_MS = 250;

type Judged = Pick<CheckResult, 'outcome' | 'message'>;

type Limits = {
  readonly once: boolean;
  readonly signal: AbortSignal;
  /** Aborted when the timeout of the check is over. */
  readonly timeout?: AbortSignal;
};

/**
 * Repeats a look that fails until it passes or the timeout of the check is over; with `once` it looks a single time. The message is that
 * of the last look that the timeout did not cut off, if there was one.
 * @param look gets a signal that ends with the timeout
 * @throws AbortError if `signal` is aborted
 */
export const untilTimeout = async (
  { name, timeoutSeconds }: { readonly name: string; readonly timeoutSeconds: number },
  { once, signal, timeout = AbortSignal.timeout(timeoutSeconds * 1000) }: Limits,
  look: (limit: AbortSignal) => Promise<Judged>,
): Promise<CheckResult> => {
  const limit = AbortSignal.any([signal, timeout]);
  let reason: string | undefined;
  for (;;) {
    const { outcome, message } = await look(limit);
    signal.throwIfAborted();
    if (outcome === 'passed') return { name, outcome, message };
    if (reason === undefined || !limit.aborted) reason = message;
    if (!once) await sleep(RETRY_MS, undefined, { signal: limit }).catch(() => {});
    signal.throwIfAborted();
    if (once || limit.aborted)
      return { name, outcome, message: `${reason}${once ? '' : ` (tried for ${timeoutSeconds} s)`}` };
  }
};
