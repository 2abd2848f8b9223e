import type { LiveObject } from '../api/kubernetes-api.ts';
import { policyOf } from '../desired/marks.ts';
import { groupOf } from '../desired/object-key.ts';
import { hasStatus, judge } from './judge.ts';
import { SETTLE_DEFAULTS } from './settle/settle-options.ts';

/**
 * Whether all objects that a package waits for are Current by what a look has just read, without a request. False also where more has to be
 * read to judge an object, such as the binding mode of a storage class: settleKubernetes decides then.
 */
export const allCurrent = (objects: Iterable<LiveObject>): boolean => {
  const { clock, loadBalancer } = SETTLE_DEFAULTS;
  const context = { now: clock.now(), loadBalancer, lateBinding: new Set<string>() };
  return [...objects]
    .filter(({ apiVersion, kind }) => hasStatus({ group: groupOf(apiVersion), kind }))
    .filter(({ metadata }) => {
      const { apply, wait } = policyOf(metadata.annotations ?? {});
      return wait && apply !== 'ignore';
    })
    .every((live) => judge(live, context).status === 'Current');
};
