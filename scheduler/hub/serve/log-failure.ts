import type { Logger } from 'pino';
import { toFleetError } from '#bundles/errors';
import { faultFields } from '../watch/fault-fields.ts';

/**
 * Logs why a round of a duty failed. @param doing 'counting the fleet' @param failed the line in the log: 'compliance not sampled'
 * @param about more fields of that line
 */
export const logFailure =
  (log: Pick<Logger, 'info' | 'error'>, doing: string, failed: string, about: object = {}) =>
  (error: unknown): void => {
    const fault = toFleetError(error, doing);
    // A build holds the layout for its whole duration.
    const level = fault.code === 'BUSY' ? 'info' : 'error';
    log[level]({ ...about, ...faultFields(fault) }, failed);
  };
