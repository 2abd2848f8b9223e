import type { Digest } from '#bundles/digest';
import type { Event } from '#bundles/report/event';
import type { AssignmentStateRow } from '../store/tables.ts';

/**
 * What runs at an agent, from its events. Three cells (what runs, how the last step ended, drift), each the word of the
 * highest sequence number that says something about it: so any order and repetition of reports ends in the same row.
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

type Running = Pick<AssignmentStateRow, 'package' | 'site_values' | 'release_version'>;

/** A step that failed or was skipped changes nothing that runs; going back to the last good one does. */
const runningOf = (event: Event): Running | undefined => {
  if (event.type !== 'package' && event.type !== 'rolled-back') return undefined;
  if (event.outcome === 'failed' || event.outcome === 'skipped') return undefined;
  if (event.outcome === 'deleted') return { package: null, site_values: null, release_version: null };
  if (event.package === undefined) return undefined;
  return {
    package: event.package,
    site_values: event.siteValues ?? null,
    release_version: event.release?.version ?? null,
  };
};

const isStep = ({ type }: Event): boolean => type === 'package' || type === 'check' || type === 'rolled-back';

/** What was corrected is over, and so is a drift that was put right at once (created, configured, deleted) is over; one that was only seen stands. */
const driftOf = (event: Event): Pick<AssignmentStateRow, 'drifted' | 'drift_message'> | undefined => {
  const changed =
    event.outcome === 'created' || event.outcome === 'configured' || event.outcome === 'deleted';
  if (event.type === 'corrected') return { drifted: 0, drift_message: null };
  if (event.type === 'drift') return { drifted: changed ? 0 : 1, drift_message: event.message ?? null };
  if (event.type !== 'package' && event.type !== 'rolled-back') return undefined;
  return changed || event.outcome === 'unchanged' ? { drifted: 0, drift_message: null } : undefined;
};
