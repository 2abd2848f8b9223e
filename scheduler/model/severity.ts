/** How bad an alarm is, from what only informs to what needs a person at once. */
export const SEVERITIES = ['info', 'warning', 'critical'] as const;
export type Severity = (typeof SEVERITIES)[number];

/** For sorting: the worst first. */
export const bySeverity = (one: Severity, other: Severity): number =>
  SEVERITIES.indexOf(other) - SEVERITIES.indexOf(one);

export const isWorse = (one: Severity, other: Severity): boolean => bySeverity(one, other) < 0;
