import type { RightsObject, Rule } from './rights-objects.ts';

/**
 * Rights of `needed` that the roles of `granted` do not give, as sentences for people: 'fleet-agent in namespace shop lacks: create
 * ingresses.networking.k8s.io'. Both are what rightsObjects returns, of different releases.
 */
export const lackingRights = (
  needed: readonly RightsObject[],
  granted: readonly Pick<RightsObject, 'kind' | 'metadata' | 'rules'>[],
): readonly string[] => {
  const known = new Map(granted.map((one) => [keyOf(one), one.rules ?? []]));
  return needed.flatMap((role) => {
    const given = known.get(keyOf(role)) ?? [];
    return (role.rules ?? []).flatMap((rule) => {
      const verbs = rule.verbs.filter((verb) => !gives(given, rule, verb));
      return verbs.length === 0
        ? []
        : [`${shownRole(role)} lacks: ${verbs.join(', ')} ${shownResource(rule)}`];
    });
  });
};

const keyOf = ({ kind, metadata }: Pick<RightsObject, 'kind' | 'metadata'>): string =>
  [kind, metadata.namespace ?? '', metadata.name].join('/');

const gives = (
  rules: readonly Rule[],
  { apiGroups, resources, resourceNames }: Rule,
  verb: string,
): boolean => {
  const has = (list: readonly string[] | undefined, one: string): boolean =>
    list?.includes('*') === true || list?.includes(one) === true;
  const fitting = rules.filter(
    (rule) =>
      has(rule.verbs, verb) &&
      apiGroups.every((group) => has(rule.apiGroups, group)) &&
      resources.every((one) => has(rule.resources, one)),
  );
  if (fitting.some((rule) => rule.resourceNames === undefined)) return true;
  return (
    resourceNames !== undefined &&
    resourceNames.every((name) => fitting.some((rule) => rule.resourceNames?.includes(name)))
  );
};

const shownRole = ({ kind, metadata: { name, namespace } }: RightsObject): string =>
  `${kind} ${name}${namespace === undefined ? '' : ` in namespace ${namespace}`}`;

const shownResource = ({
  apiGroups: [group = ''],
  resources: [resource = ''],
  resourceNames,
}: Rule): string =>
  `${resource}${group === '' ? '' : `.${group}`}${resourceNames === undefined ? '' : ` (${resourceNames.join(', ')})`}`;
