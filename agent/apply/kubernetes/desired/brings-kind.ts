import { isRecord } from '#bundles/is-record';
import type { TypeRef } from '../api/kubernetes-api.ts';
import { isBuiltIn } from './is-built-in.ts';
import { groupOf } from './object-key.ts';
import type { Manifest } from './read-wanted.ts';

/**
 * True if an object of the package makes the cluster have a kind, other than a CustomResourceDefinition: an APIService of its group and
 * version, or a custom resource from which a controller makes the definition (a ConstraintTemplate of Gatekeeper, a
 * CompositeResourceDefinition of Crossplane, a ResourceGraphDefinition of kro). Those name the kind in `names`, `claimNames` or `schema`.
 */
export const bringsKind = (manifests: readonly Manifest[], { apiVersion, kind }: TypeRef): boolean => {
  const group = groupOf(apiVersion);
  if (isBuiltIn(group)) return false;
  const version = apiVersion.slice(group.length + 1);
  return manifests.some((one) => {
    const { spec } = one.fields;
    if (one.kind === kind || !isRecord(spec)) return false;
    if (one.kind === 'APIService') return spec['group'] === group && spec['version'] === version;
    return !isBuiltIn(groupOf(one.apiVersion)) && namesKind(spec, kind);
  });
};

const NAMES = ['names', 'claimNames', 'schema'];

const namesKind = (node: unknown, kind: string): boolean =>
  isRecord(node) &&
  Object.entries(node).some(
    ([key, value]) =>
      (NAMES.includes(key) && isRecord(value) && value['kind'] === kind) || namesKind(value, kind),
  );
