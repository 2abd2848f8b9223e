import type { Timestamp } from '#bundles/time';

/** A reboot that a host needs, as its agent reported. */
export type RebootRequired = {
  readonly since: Timestamp;
  readonly causes: string;
  /** Obstacle at the time of the report; null: not reported. */
  readonly waits: string | null;
};

/** The newest reports of an agent about reboots of its host. */
export type RebootState = {
  readonly required: RebootRequired | null;
  /** Units that use libraries of before an upgrade. */
  readonly services: readonly string[];
  /** The last reboot by the agent, and the packages that were not healthy after it. */
  readonly last: { readonly at: Timestamp; readonly unwell: readonly string[] } | null;
};
