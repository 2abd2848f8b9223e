import type { DesiredPackage } from '../../../model/target.ts';
import type { LiveObject } from '../api/kubernetes-api.ts';
import { policyOf } from '../desired/marks.ts';
import { groupOf } from '../desired/object-key.ts';
import { ruleOf, type SelectedObject } from '#bundles/formats/bounds/object-rules';
import { openCustomHealth } from './custom-health.ts';
import { hasStatus, judge } from './judge.ts';
import { SETTLE_DEFAULTS } from './settle/settle-options.ts';

/**
 * Whether all objects that a package waits for are Current by what a look has just read, without a request. False also where more has to be
 * read to judge an object, such as the binding mode of a storage class: settleKubernetes decides then.
 * @param rules of the platform for the objects
 */
export const allCurrent = async (
  objects: Iterable<LiveObject>,
  rules: DesiredPackage['objectRules'],
): Promise<boolean> => {
  const { clock, loadBalancer } = SETTLE_DEFAULTS;
  const context = { now: clock.now(), loadBalancer, lateBinding: new Set<string>(), maySuspend: false };
  const judged = [...objects]
    .map((live) => ({ live, rule: ruleOf(rules, refTo(live)) }))
    .filter(
      ({ live: { apiVersion, kind }, rule }) =>
        rule?.health !== undefined || hasStatus({ group: groupOf(apiVersion), kind }),
    )
    .map(({ live, rule }) => ({ live, policy: policyOf(live.metadata.annotations ?? {}, rule) }))
    .filter(({ policy: { apply, order, wait } }) => wait && apply !== 'ignore' && !order.isHook);
  const customHealth = await openCustomHealth(judged.map(({ policy }) => policy.health));
  return judged.every(
    ({ live, policy }) =>
      judge(live, { ...context, custom: customHealth(policy.health) }).status === 'Current',
  );
};

const refTo = ({ apiVersion, kind, metadata }: LiveObject): SelectedObject => ({
  group: groupOf(apiVersion),
  kind,
  name: metadata.name,
  namespace: metadata.namespace,
});
