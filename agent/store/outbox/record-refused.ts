import type { FleetError } from '#bundles/errors';
import type { Agent } from '../agent.ts';
import { record } from '../journal/boundary.ts';
import { appendEvent } from './outbox.ts';

/** Records a `refused` event for the report. `also` runs in the same transaction. */
export const recordRefused = (agent: Agent, error: FleetError, also: () => void = () => {}): void => {
  const { code, message, subject } = error;
  record(agent, `refused ${code}`, () => {
    appendEvent(agent, {
      type: 'refused',
      code,
      message,
      detail: subject === undefined ? undefined : { subject },
    });
    also();
  });
};
