import { isRecord } from '#bundles/is-record';
import { typeKey } from '../desired/resolve-wanted.ts';
import type { WantedObject } from '../desired/wanted-object.ts';
import type { PlanContext } from './plan-context.ts';

/** Why a dry run of the object is not possible yet, or undefined if it is. */
export const dependsOn = (
  { wanted: all, live }: PlanContext,
  wanted: WantedObject,
  changing: ReadonlySet<string>,
): string | undefined => {
  const missing = neededBy(wanted).find((key) => all?.byKey.has(key) && !live.has(key));
  if (missing !== undefined) return `${missing} is made first`;
  if (all?.later.has(typeKey(wanted))) return 'its kind comes with another object of the package';
  const crd = all?.definedBy.get(typeKey(wanted));
  if (crd !== undefined && changing.has(crd)) return 'its definition changes first';
  if (wanted.namespace === undefined) return undefined;
  return changing.has(`/Namespace//${wanted.namespace}`) ? 'its namespace is made first' : undefined;
};

/** Keys of objects without which the server's admission refuses an object: those that a Pod or a binding names. */
const neededBy = ({ group, kind, namespace = '', object }: WantedObject): readonly string[] => {
  const { spec, roleRef } = object;
  if (group === 'rbac.authorization.k8s.io' && isRecord(roleRef)) {
    const place = roleRef['kind'] === 'Role' ? namespace : '';
    return [`${group}/${String(roleRef['kind'])}/${place}/${String(roleRef['name'])}`];
  }
  if (group !== '' || kind !== 'Pod' || !isRecord(spec)) return [];
  return [
    `/ServiceAccount/${namespace}/${String(spec['serviceAccountName'])}`,
    `scheduling.k8s.io/PriorityClass//${String(spec['priorityClassName'])}`,
    `node.k8s.io/RuntimeClass//${String(spec['runtimeClassName'])}`,
  ];
};
