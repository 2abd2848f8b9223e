import type { Agent } from '../agent.ts';
import { record } from '../journal/boundary.ts';
import { openOperation } from '../journal/operations.ts';
import { appendEvent } from '../report/outbox.ts';
import { readCondition, saveCondition } from '../store/conditions.ts';
import { findPackage } from '../store/packages.ts';
import type { Restored } from './restore-secrets.ts';

/**
 * Reports files of secrets that somebody deleted and the agent made again. After a boot all of them were missing, and nobody
 * deleted one: the first look of each boot reports none.
 */
export const tellRestored = (agent: Agent, restored: readonly Restored[]): void => {
  const { state, edge } = agent;
  // What an operation that was cut off has not made yet, nobody deleted.
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
