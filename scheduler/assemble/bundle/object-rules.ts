import { defined } from '#bundles/defined';
import type { ObjectRule } from '#bundles/formats/bundle/config';
import { type SelectedObject, selectsObject } from '#bundles/formats/bounds/object-rules';
import type { ClusterType, PlacedObjectRule } from '../../model/model.ts';
import type { AssembledPackage } from './assembled-package.ts';

/** The rules of a bundle, and the indices of those that select an object of a package. */
export type BundleRules = {
  readonly rules: readonly ObjectRule[];
  readonly indicesOf: (made: AssembledPackage) => readonly number[];
};

/** The rules that select an object of a package of the bundle, so that others do not change its digest. */
export const objectRulesIn = (
  { objectRules = [] }: ClusterType,
  packages: readonly AssembledPackage[],
): BundleRules => {
  if (objectRules.length === 0) return { rules: [], indicesOf: () => [] };
  const selecting = new Map(packages.map((made) => [made, rulesOn(made, objectRules)]));
  const used = new Set([...selecting.values()].flat());
  const kept = [...objectRules.keys()].filter((at) => used.has(at));
  return {
    rules: objectRules.filter((_, at) => used.has(at)).map(toObjectRule),
    indicesOf: (made) => (selecting.get(made) ?? []).map((at) => kept.indexOf(at)),
  };
};

const toObjectRule = ({ health, ...rule }: PlacedObjectRule): ObjectRule =>
  defined({
    ...rule,
    health:
      health &&
      defined({
        current: health.current?.value ?? '',
        failed: health.failed?.value,
        inProgress: health.inProgress?.value,
      }),
  }) as ObjectRule;

/** Indices of the rules that select an object of the package, among all rules of the cluster type. */
const rulesOn = ({ owns }: AssembledPackage, objectRules: readonly PlacedObjectRule[]): readonly number[] => {
  const objects = owns.map(objectOf);
  return objectRules.flatMap(({ kinds, names, namespaces }, at) => {
    const selection = defined({ kinds, names, namespaces });
    return objects.some((object) => selectsObject(selection, object)) ? [at] : [];
  });
};

/** 'Deployment.apps shop/web', as identityOf names it. */
const objectOf = (owned: string): SelectedObject => {
  const [type = '', place = ''] = owned.split(' ');
  const [kind = '', ...group] = type.split('.');
  const [name = '', namespace] = place.split('/').toReversed();
  return { kind, group: group.join('.'), name, namespace };
};
