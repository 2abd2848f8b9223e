import type { Digest } from '#bundles/digest';
import type { Event, Outcome } from '#bundles/formats/events/event';

/** Meaning of agents' events for assignments, for the hub's tables and for a signer that judges reports. */

/** The running package after a step. All null: none. */
export type Running = {
  readonly package: Digest | null;
  readonly site_values: Digest | null;
  readonly release_version: number | null;
};

/** Event types of package steps. They set what runs and the result, and end a drift. */
const STEPS: ReadonlySet<string> = new Set(['package', 'rolled-back', 'removed']);

/** A failed or skipped step does not change what runs; a rollback does. */
export const runningOf = (event: Event): Running | undefined => {
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
 * Passed checks do not count as a step: after a rollback they are about the previous package, and the failure must stay visible
 * until a later step.
 */
export const isStep = ({ type, outcome }: Event): boolean =>
  STEPS.has(type) || (type === 'check' && outcome === 'failed');

/** Whether the last step or check of a package failed. */
export const isFailed = (
  health: { readonly outcome: Outcome | null; readonly type: string } | null | undefined,
): boolean => health?.outcome === 'failed' || health?.type === 'rolled-back';

const IN_SYNC = { drifted: 0, drift_message: null } as const;

/** A drift event without an outcome sets drift. One with an outcome, a correction, or a successful step ends it. */
export const driftOf = ({
  type,
  outcome,
  message,
}: Event): { readonly drifted: number; readonly drift_message: string | null } | undefined => {
  if (type === 'corrected') return IN_SYNC;
  if (type === 'drift')
    return outcome === undefined ? { drifted: 1, drift_message: message ?? null } : IN_SYNC;
  if (!STEPS.has(type) || outcome === undefined || outcome === 'failed' || outcome === 'skipped')
    return undefined;
  return IN_SYNC;
};
