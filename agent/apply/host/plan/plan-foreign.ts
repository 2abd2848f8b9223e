import { toStep } from '../host-step.ts';
import { fileKey } from '../owned/owned-state.ts';
import { type ForeignFile, driftedFiles } from '../systemd/foreign-files.ts';
import type { UnitContext } from './plan-context.ts';
import type { FileChange } from './plan-files.ts';

/**
 * Removes what `systemctl edit` and others wrote over units of the package, and keeps copies. Files that the host needs otherwise stay
 * (ForeignFile.stays).
 */
export const planForeign = (
  { wanted, owned, units }: UnitContext,
  foreign: ReadonlyMap<string, readonly ForeignFile[]>,
): readonly FileChange[] => {
  if (!wanted) return [];
  const files = new Map<string, ForeignFile>();
  for (const unit of units)
    for (const file of driftedFiles(unit, foreign.get(unit.name) ?? [], { wanted, owned }))
      if (file.stays === undefined) files.set(file.path, file);
  return [...files.values()].map(({ path, what, unit }) => ({
    path,
    changes: true,
    step: (outdates) =>
      toStep(fileKey(path), 'deleted', REASONS[what](unit), {
        kind: 'file-removal',
        detail: { path, ours: [], replaced: null, outdates },
      }),
  }));
};

const REASONS: Readonly<Record<ForeignFile['what'], (unit: string) => string>> = {
  'drop-in': () => 'a drop-in that is not of the package',
  shadow: (unit) => `it replaces ${unit} and is not of the package`,
};
