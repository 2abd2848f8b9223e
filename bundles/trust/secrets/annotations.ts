/**
 * Annotations of a Secret that the agent fills from a sealed set of the site: the set, and which of its keys
 * (docs/bundle-format.md section 16).
 */
export const SECRET_SET = 'fleet-ferry/secret-set';
export const SECRET_KEYS = 'fleet-ferry/secret-keys';

/** The sets that a parsed manifest names, wherever in it the annotation stands: an item of a List counts too. */
export const secretSetsIn = (node: unknown): readonly string[] => {
  if (Array.isArray(node)) return node.flatMap(secretSetsIn);
  if (typeof node !== 'object' || node === null) return [];
  return Object.entries(node).flatMap(([key, value]) =>
    key === SECRET_SET && typeof value === 'string' ? [value] : secretSetsIn(value),
  );
};
