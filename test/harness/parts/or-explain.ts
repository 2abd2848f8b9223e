import { FleetError, toFleetError } from '../../../bundles/errors.ts';

/** What `work` returns; when it fails, `sentence` and the last line of why, which is what a skipped test can show. */
export const orExplain = async <T>(sentence: string, work: () => Promise<T>): Promise<T> => {
  try {
    return await work();
  } catch (error) {
    const why = toFleetError(error).message.trim().split('\n').at(-1);
    throw new FleetError('TOOL_MISSING', `${sentence}: ${why}`, { cause: error });
  }
};
