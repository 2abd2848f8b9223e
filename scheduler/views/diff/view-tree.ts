import type { HeldAssignment } from '../../model/model.ts';
import { README, TRACKING_FILE, type Tree } from '../../render/render-tree.ts';
import type { EnvironmentView, Files } from './view-environment.ts';

type Now = Pick<EnvironmentView, 'isKept'> & { readonly held: readonly HeldAssignment[] };

/**
 * Parses a rendered tree as its reconcilers do: folders with our README.md are cluster types, folders in them deployment
 * targets. Other files on the branch are not ours. Pure.
 */
export const viewTree = (
  tree: Tree,
  { isKept, held }: Now = { isKept: () => false, held: [] },
): EnvironmentView => {
  const types = [...tree].flatMap(([path, bytes]) => {
    const [name = '', file, ...more] = path.split('/');
    return file === 'README.md' && more.length === 0 && bytes.toString().trimEnd() === README ? [name] : [];
  });
  const tracking = tree.get(TRACKING_FILE);
  return {
    files: new Map(tracking ? [[TRACKING_FILE, tracking]] : []),
    isKept,
    clusterTypes: new Map(
      types.map((name) => [name, { readAssignments: () => targetsIn(tree, name), held: heldIn(held, name) }]),
    ),
  };
};

const targetsIn = (tree: Tree, clusterType: string): ReadonlyMap<string, Files> => {
  const targets = new Map<string, Map<string, Buffer>>();
  for (const [path, bytes] of tree) {
    const [type, target = '', ...inside] = path.split('/');
    if (type !== clusterType || inside.length === 0) continue;
    targets.set(target, (targets.get(target) ?? new Map<string, Buffer>()).set(inside.join('/'), bytes));
  }
  return targets;
};

const heldIn = (held: readonly HeldAssignment[], name: string) =>
  new Map(
    held
      .filter(({ assignment }) => assignment.clusterType.name === name)
      .map(({ assignment, error }) => [assignment.target.name, error]),
  );
