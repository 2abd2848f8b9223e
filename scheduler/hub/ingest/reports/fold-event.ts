import type { Digest } from '#bundles/digest';
import type { Event } from '#bundles/formats/events/event';
import { driftOf, isStep, runningOf } from '../../../model/event-steps.ts';
import type { AssignmentStateRow } from '../../store/tables.ts';

/**
 * Applies an event to the state of an assignment. Its three cells (what runs, result of the last step, drift) each keep the
 * value from the event with the highest sequence number, so that the result does not depend on order or repetition of reports.
 */
export const foldEvent = (state: AssignmentStateRow, event: Event, report: Digest): AssignmentStateRow => {
  const running = runningOf(event);
  const drift = driftOf(event);
  return {
    ...state,
    ...(running &&
      event.seq > state.running_seq && {
        ...running,
        running_seq: event.seq,
        running_at: event.at,
        running_report: report,
      }),
    ...(isStep(event) &&
      event.seq > state.outcome_seq && {
        outcome: event.outcome ?? null,
        outcome_type: event.type,
        code: event.code ?? null,
        outcome_package: event.package ?? null,
        message: event.message ?? null,
        outcome_seq: event.seq,
        outcome_at: event.at,
        outcome_report: report,
      }),
    ...(drift &&
      event.seq > state.drift_seq && {
        ...drift,
        drift_seq: event.seq,
        drift_at: event.at,
        drift_report: report,
      }),
  };
};

export const emptyState = (agent: string, assignment: string): AssignmentStateRow => ({
  agent,
  assignment,
  package: null,
  site_values: null,
  release_version: null,
  running_seq: 0,
  running_at: null,
  running_report: null,
  outcome: null,
  outcome_type: null,
  code: null,
  outcome_package: null,
  message: null,
  outcome_seq: 0,
  outcome_at: null,
  outcome_report: null,
  drifted: 0,
  drift_message: null,
  drift_seq: 0,
  drift_at: null,
  drift_report: null,
});
