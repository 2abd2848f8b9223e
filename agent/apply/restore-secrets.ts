import { toFleetError } from '#bundles/errors';
import type { Agent } from '../store/agent.ts';
import { loadPackage } from './load-package.ts';
import { checkAborted, record } from '../store/journal/boundary.ts';
import { openOperations } from '../store/journal/operations.ts';
import { readOwned } from '../store/applied/inventory.ts';
import type { PackageRef } from '../store/applied/package-ref.ts';
import { readPackages, findPackage } from '../store/applied/packages.ts';
import type { State } from '../store/state.ts';
import { changesOf } from '../store/outbox/changes.ts';
import { appendEvent } from '../store/outbox/outbox.ts';
import { readCondition, saveCondition } from '../store/conditions.ts';

export type Restored = {
  readonly assignment: string;
  readonly paths: readonly string[];
  /** Why files could not be restored. */
  readonly error?: { readonly code: string; readonly message: string };
};

/**
 * Restores the files of secrets that a boot removes from memory: those of running packages, and those of an interrupted
 * operation, which does not repeat its finished steps. Not reported as drift; tellRestored reports files deleted otherwise.
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
  const goals = new Map(
    openOperations(state)
      .filter(({ phase }) => phase !== 'stage')
      .map(({ assignment, rollingBack, from, to }) => [assignment, rollingBack ? from : to]),
  );
  return readPackages(state).flatMap(({ assignment, current }) => {
    const ref = goals.has(assignment) ? goals.get(assignment) : current;
    return ref ? [{ assignment, ref }] : [];
  });
};

/**
 * Reports restored files of secrets that were deleted. The first call after a boot reports none, because the boot removed all
 * of them.
 */
export const recordRestored = (agent: Agent, restored: readonly Restored[]): void => {
  const { state, edge } = agent;
  // Files of an interrupted operation may not have been written yet, so they do not count as deleted.
  const open = new Set(openOperations(state).map(({ assignment }) => assignment));
  const made = restored.filter(({ assignment, paths }) => paths.length > 0 && !open.has(assignment));
  const isFirst = readCondition(state, 'boot')?.id !== edge.bootId;
  if (isFirst) saveCondition(state, 'boot', { id: edge.bootId });
  if (isFirst || made.length === 0) return;
  record(agent, 'secrets restored', () => {
    for (const { assignment, paths } of made) {
      const ref = findPackage(state, assignment)?.current;
      appendEvent(agent, {
        type: 'corrected',
        assignment,
        package: ref?.package,
        siteValues: ref?.siteValues,
        release: ref?.release,
        outcome: 'configured',
        message: `${paths.length === 1 ? 'a file of a secret was' : `${paths.length} files of secrets were`} missing`,
        detail: {
          operation: 'correct',
          ...changesOf(
            paths.map((path) => ({ key: `secret:${path}`, outcome: 'created', reason: 'missing' })),
          ),
        },
      });
    }
  });
};
