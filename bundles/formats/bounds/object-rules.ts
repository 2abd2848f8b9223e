import type { BundleAssignment, BundleConfig, ObjectRule } from '../bundle/config.ts';
import { allowsName } from './package-bounds.ts';

/** An object as a rule selects it. */
export type SelectedObject = {
  /** '' for the core group. */
  readonly group: string;
  readonly kind: string;
  /** undefined for an object without a namespace. */
  readonly namespace?: string | undefined;
  readonly name: string;
};

/** The effect of the platform's rules on one object: of several rules that select it, the first with a field counts. */
export type RuleOfObject = Omit<ObjectRule, 'kinds' | 'names' | 'namespaces'>;

/** The rules that select objects of a package, in their order; undefined if the bundle names none for it. */
export const objectRulesOf = (
  { objectRules = [] }: Pick<BundleConfig, 'objectRules'>,
  { rules }: Pick<BundleAssignment, 'rules'>,
): readonly ObjectRule[] | undefined => rules?.objects?.flatMap((index) => objectRules[index] ?? []);

export const selectsObject = (
  { kinds, names, namespaces }: Pick<ObjectRule, 'kinds' | 'names' | 'namespaces'>,
  { group, kind, namespace = '', name }: SelectedObject,
): boolean =>
  kinds.some((one) => one === '*' || one === kind || one === `${kind}.${group}`) &&
  (names === undefined || allowsName(names, name)) &&
  (namespaces === undefined || allowsName(namespaces, namespace));

export const ruleOf = (
  rules: readonly ObjectRule[] | undefined,
  object: SelectedObject,
): RuleOfObject | undefined => {
  const selected = (rules ?? []).filter((rule) => selectsObject(rule, object));
  return selected.length === 0 ? undefined : Object.assign({}, ...selected.toReversed());
};
