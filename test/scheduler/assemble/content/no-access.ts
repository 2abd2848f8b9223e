import type { ContentAccess } from '../../../../scheduler/assemble/content/content-access.ts';
import { NO_LOCKS } from '../../../../scheduler/model/content-locks.ts';

/** For packages that bring everything themselves. */
export const noAccess = (given: Partial<ContentAccess> = {}): ContentAccess => {
  const unexpected = async (): Promise<never> => {
    throw new Error('nothing was to be fetched');
  };
  return {
    get: unexpected,
    locks: NO_LOCKS,
    imageLocks: new Map(),
    chart: unexpected,
    unxz: () => unexpected,
    signal: new AbortController().signal,
    ...given,
  };
};
