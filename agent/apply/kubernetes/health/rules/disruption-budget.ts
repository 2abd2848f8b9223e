import { current, type Verdict } from '../verdict.ts';
import { countOf, unseen } from './replicas.ts';

/** Ignores the number of healthy pods, which the workload's own rule judges. */
export const judgeDisruptionBudget = (object: unknown): Verdict =>
  unseen(object) ?? current(`it allows ${countOf(object, 'disruptionsAllowed')} disruptions`);
