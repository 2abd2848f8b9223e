import { toStep } from '../host-step.ts';
import { fileKey } from '../owned-state.ts';
import { foreignDropIns } from '../systemd/drop-ins.ts';
import type { PlanContext } from './plan-context.ts';
import type { FileChange } from './plan-files.ts';

/** Removes drop-ins that `systemctl edit` wrote for units of the package, and keeps copies. Drop-ins of other packages stay. */
export const planDropIns = async ({
  options,
  places,
  wanted,
  owned,
  taken,
}: PlanContext): Promise<readonly FileChange[]> => {
  if (!wanted) return [];
  const paths = new Set<string>();
  for (const { name } of wanted.units)
    for (const path of await foreignDropIns({ root: options.root, places }, name, wanted, owned))
      if (!taken.has(fileKey(path))) paths.add(path);
  return [...paths].map((path) => ({
    path,
    changes: true,
    step: (outdates) =>
      toStep(fileKey(path), 'deleted', 'a drop-in that is not of the package', {
        kind: 'file-removal',
        detail: { path, ours: [], replaced: null, outdates },
      }),
  }));
};
