import { current, inProgress, type Verdict } from '../verdict.ts';
import { hasAddress } from './service.ts';

export const judgeIngress = (object: unknown): Verdict =>
  hasAddress(object)
    ? current('it has an address')
    : inProgress('no ingress controller gave it an address yet');
