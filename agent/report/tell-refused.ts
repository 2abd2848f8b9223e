import type { FleetError } from '#bundles/errors';
import type { Agent } from '../agent.ts';
import { record } from '../journal/boundary.ts';
import { appendEvent } from './outbox.ts';

/** A refusal is worth knowing at home. `also` happens in the same transaction. */
export const tellRefused = (agent: Agent, error: FleetError, also: () => void = () => {}): void => {
  const { code, message, subject } = error;
  record(agent, `refused ${code}`, () => {
    appendEvent(agent, {
      type: 'refused',
      code,
      message,
      ...(subject === undefined ? {} : { detail: { subject } }),
    });
    also();
  });
};
