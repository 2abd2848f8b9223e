import { type ErrorCode, FleetError } from '#bundles/errors';
import type { RunnerResult } from '../step-request.ts';

/** Words of programs about a full disk or a used up quota, with LC_ALL=C. */
const NO_ROOM = /no space left on device|disk quota exceeded|enough free space/i;

/** The error of a failed step: DISK_FULL, which the agent tries again, if its program found a disk full; otherwise `code`. */
export const stepError = (
  code: ErrorCode,
  said: string,
  { message, first, last }: Pick<RunnerResult, 'message' | 'first' | 'last'>,
  hint: string,
): FleetError => {
  if (!NO_ROOM.test(`${message}\n${first}\n${last}`)) return new FleetError(code, said, { hint });
  return new FleetError('DISK_FULL', NO_ROOM.test(said) ? said : `${said}; a disk of this host is full`, {
    hint: 'Free some space; the agent tries again',
  });
};
