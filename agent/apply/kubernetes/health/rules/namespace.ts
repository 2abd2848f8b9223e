import { textOf } from '../live-field.ts';
import { current, inProgress, type Verdict } from '../verdict.ts';

export const judgeNamespace = (object: unknown): Verdict => {
  const phase = textOf(object, 'status', 'phase');
  if (phase === 'Terminating') return { status: 'Terminating', message: 'it is being deleted' };
  return phase === 'Active' ? current('it is active') : inProgress('it is not active yet');
};
