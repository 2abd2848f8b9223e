import { defined } from '#bundles/defined';
import type { ListOptions, ResourceType } from './kubernetes-api.ts';
import type { ResourceRight } from './send.ts';

/** Right to list a kind, in one namespace or in all. */
export const listRights = (
  { group, plural }: ResourceType,
  { namespace }: ListOptions,
): readonly ResourceRight[] => [defined({ verb: 'list', group, resource: plural, namespace })];

/** Rights of a request. An apply may create. Roles and bindings may need those that they give, or `escalate` and `bind`. */
export const rightsFor = (
  { group, plural, namespaced }: ResourceType,
  verb: string,
  { name, namespace }: { readonly name: string; readonly namespace?: string | undefined },
): readonly ResourceRight[] => {
  const place = defined({
    group,
    resource: plural,
    namespace: namespaced && namespace !== undefined ? namespace : undefined,
  });
  const plain: readonly ResourceRight[] =
    verb === 'apply'
      ? [
          { ...place, verb: 'patch', name },
          { ...place, verb: 'create' },
        ]
      : [{ ...place, verb, ...defined({ name: verb !== 'create' ? name : undefined }) }];
  if (group !== RBAC || !WRITES.has(verb)) return plain;
  const grants = plural.endsWith('bindings')
    ? ['roles', 'clusterroles'].map((resource) => ({ ...place, resource, verb: 'bind' }))
    : [{ ...place, verb: 'escalate' }];
  return [...plain, ...grants];
};

const RBAC = 'rbac.authorization.k8s.io';
const WRITES: ReadonlySet<string> = new Set(['apply', 'create', 'update', 'patch']);
