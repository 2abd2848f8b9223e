import type { Agent } from '../store/agent.ts';
import { record } from '../store/journal/boundary.ts';
import { openOperation } from '../store/journal/operations.ts';
import { appendEvent } from '../store/outbox/outbox.ts';
import { readCondition, saveCondition } from '../store/conditions.ts';
import { findPackage } from '../store/packages.ts';
import type { Restored } from './restore-secrets.ts';

/**
 * Reports restored files of secrets that were deleted. The first call after a boot reports none, because the boot removed all
 * of them.
 */
export const tellRestored = (agent: Agent, restored: readonly Restored[]): void => {
  const { state, edge } = agent;
  // Files of an interrupted operation may not have been written yet, so they do not count as deleted.
  const open = openOperation(state)?.assignment;
  const made = restored.filter(({ assignment, paths }) => paths.length > 0 && assignment !== open);
  const isFirst = readCondition(state, 'boot')?.id !== edge.bootId;
  if (isFirst) saveCondition(state, 'boot', { id: edge.bootId });
  if (isFirst || made.length === 0) return;
  record(agent, 'secrets restored', () => {
    for (const { assignment, paths } of made) {
      const ref = findPackage(state, assignment)?.current;
      appendEvent(agent, {
        type: 'corrected',
        assignment,
        ...(ref ? { package: ref.package, siteValues: ref.siteValues, release: ref.release } : {}),
        outcome: 'configured',
        message: `${paths.length === 1 ? 'a file of a secret was' : `${paths.length} files of secrets were`} missing`,
        detail: {
          operation: 'correct',
          changes: paths.map((path) => ({ key: `secret:${path}`, outcome: 'created', reason: 'missing' })),
        },
      });
    }
  });
};
