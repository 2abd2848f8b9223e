import { defined } from '#bundles/defined';
import type { BundleConfig, ObjectRule } from '#bundles/formats/bundle/config';
import { type SelectedObject, selectsObject } from '#bundles/formats/bounds/object-rules';
import type { ClusterType, PlacedObjectRule } from '../../model/model.ts';
import type { AssembledPackage } from './assembled-package.ts';

/** The rules that select an object of a package of the bundle, so that others do not change its digest. */
export const objectRulesIn = (
  { objectRules = [] }: ClusterType,
  packages: readonly AssembledPackage[],
): readonly PlacedObjectRule[] =>
  objectRules.length === 0
    ? []
    : objectRules.filter((rule) => packages.some((made) => selectsOneOf(rule, made)));

/** Indices of the rules that select an object of the package; undefined without one. */
export const rulesOn = (
  rules: readonly PlacedObjectRule[],
  made: AssembledPackage,
): readonly number[] | undefined => {
  const on = rules.flatMap((rule, index) => (selectsOneOf(rule, made) ? [index] : []));
  return on.length === 0 ? undefined : on;
};

export const toObjectRule = ({ health, ...rule }: PlacedObjectRule): ObjectRule =>
  defined({
    ...rule,
    health:
      health &&
      defined({
        current: health.current?.value ?? '',
        failed: health.failed?.value,
        inProgress: health.inProgress?.value,
      }),
  }) as NonNullable<BundleConfig['objectRules']>[number];

const selectsOneOf = (
  { kinds, names, namespaces }: PlacedObjectRule,
  { owns }: Pick<AssembledPackage, 'owns'>,
): boolean => owns.some((name) => selectsObject(defined({ kinds, names, namespaces }), objectOf(name)));

/** 'Deployment.apps shop/web', as identityOf names it. */
const objectOf = (owned: string): SelectedObject => {
  const [type = '', place = ''] = owned.split(' ');
  const [kind = '', ...group] = type.split('.');
  const [name = '', namespace] = place.split('/').toReversed();
  return { kind, group: group.join('.'), name, namespace };
};
