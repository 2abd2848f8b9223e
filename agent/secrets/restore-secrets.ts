import { toFleetError } from '#bundles/errors';
import type { Agent } from '../agent.ts';
import { loadPackage } from '../apply/load-package.ts';
import { checkAborted } from '../journal/boundary.ts';
import { openOperation } from '../journal/operations.ts';
import { readOwned } from '../store/inventory.ts';
import type { PackageRef } from '../store/package-ref.ts';
import { readPackages } from '../store/packages.ts';
import type { State } from '../store/state.ts';

export type Restored = {
  readonly assignment: string;
  readonly paths: readonly string[];
  /** Why some could not be made again. */
  readonly error?: { readonly code: string; readonly message: string };
};

/**
 * Makes again what a boot took from memory: the files of secrets of all that runs, and of what was being applied when the power
 * went, which goes on behind its steps that are done. No drift: what was deleted otherwise is reported by tellRestored.
 */
export const restoreSecrets = async (agent: Agent): Promise<readonly Restored[]> => {
  const { state, signal } = agent;
  const restored: Restored[] = [];
  for (const { assignment, ref } of running(state)) {
    checkAborted(signal);
    const target = agent.targets.find(({ kind }) => kind === ref.kind);
    const owned = readOwned(state, assignment);
    if (!target?.restore || !owned.some(({ key }) => key.startsWith('secret:'))) continue;
    try {
      const desired = await loadPackage(state, agent.identity.agent, ref, signal);
      const paths = await target.restore(desired, owned, signal);
      if (paths.length > 0) restored.push({ assignment, paths });
    } catch (cause) {
      checkAborted(signal);
      const { code, message } = toFleetError(cause);
      restored.push({ assignment, paths: [], error: { code, message } });
    }
  }
  return restored;
};

const running = (state: State): readonly { readonly assignment: string; readonly ref: PackageRef }[] => {
  const open = openOperation(state);
  const goal = open && (open.rollingBack ? open.from : open.to);
  return readPackages(state).flatMap(({ assignment, current }) => {
    const isOpen = open?.assignment === assignment && open.phase !== 'stage';
    const ref = isOpen ? goal : current;
    return ref ? [{ assignment, ref }] : [];
  });
};
