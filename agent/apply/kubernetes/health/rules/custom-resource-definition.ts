import { conditionOf, saidBy } from '../condition.ts';
import { current, failed, inProgress, type Verdict } from '../verdict.ts';

export const judgeDefinition = (object: unknown): Verdict => {
  const names = conditionOf(object, 'NamesAccepted');
  if (names?.status === 'False') return failed(`its names are taken: ${saidBy(names, 'no reason given')}`, 0);
  const established = conditionOf(object, 'Established');
  if (established?.status === 'True') return current('it is established');
  if (established?.status === 'False' && established.reason !== 'Installing') {
    return failed(`it is not established: ${saidBy(established, 'no reason given')}`, 0);
  }
  return inProgress('it is not established yet');
};
