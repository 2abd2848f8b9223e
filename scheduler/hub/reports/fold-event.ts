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

/** Steps of a package: they say what runs, how it ended, and that what differed before no longer does. */
const STEPS: ReadonlySet<string> = new Set(['package', 'rolled-back', 'removed']);

/** A step that failed or was skipped changes nothing that runs; going back to the last good one does. */
const runningOf = (event: Event): Running | undefined => {
  if (!STEPS.has(event.type) || event.outcome === 'failed' || event.outcome === 'skipped') return undefined;
  if (event.outcome === 'deleted') return { package: null, site_values: null, release_version: null };
  if (event.package === undefined) return undefined;
  return {
    package: event.package,
    site_values: event.siteValues ?? null,
    release_version: event.release?.version ?? null,
  };
};

/**
 * Checks that pass are no step: after a package was rolled back they are those of the package before, and what failed must
 * be seen until a step ends it.
 */
const isStep = ({ type, outcome }: Event): boolean =>
  STEPS.has(type) || (type === 'check' && outcome === 'failed');

const IN_SYNC = { drifted: 0, drift_message: null } as const;

/** A drift without an outcome stands; one with an outcome, a correction and any step that changed something end it. */
const driftOf = ({
  type,
  outcome,
  message,
}: Event): Pick<AssignmentStateRow, 'drifted' | 'drift_message'> | undefined => {
  if (type === 'corrected') return IN_SYNC;
  if (type === 'drift')
    return outcome === undefined ? { drifted: 1, drift_message: message ?? null } : IN_SYNC;
  if (!STEPS.has(type) || outcome === undefined || outcome === 'failed' || outcome === 'skipped')
    return undefined;
  return IN_SYNC;
};
