import { conditionOf, saidBy } from '../condition.ts';
import { current, inProgress, type Verdict } from '../verdict.ts';

export const judgeApiService = (object: unknown): Verdict => {
  const available = conditionOf(object, 'Available');
  if (available?.status === 'True') return current('it is available');
  return inProgress(available ? saidBy(available, 'it is not available') : 'it is not available yet');
};
