import { formatTime } from '#bundles/time';
import type { Agent } from '../store/agent.ts';
import { type Operation, saveOperation } from '../store/journal/operations.ts';

/** Records that an operation has ended, now and with this outcome. */
export const endOperation = (agent: Agent, operation: Operation, outcome: Operation['outcome']): void =>
  saveOperation(agent.state, {
    ...operation,
    phase: 'done',
    outcome,
    endedAt: formatTime(agent.edge.now()),
  });
