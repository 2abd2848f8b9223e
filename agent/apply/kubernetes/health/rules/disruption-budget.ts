import { current, type Verdict } from '../verdict.ts';
import { countOf, unseen } from './replicas.ts';

/** How many pods are healthy now is their workload's business. */
export const judgeDisruptionBudget = (object: unknown): Verdict =>
  unseen(object) ?? current(`it allows ${countOf(object, 'disruptionsAllowed')} disruptions`);
