import type { Check } from './check-list.ts';

/** A line a check, for people. */
export const formatChecks = (checks: readonly Check[]): string =>
  checks.map(({ what, ok, message }) => `${ok ? 'ok     ' : 'REFUSED'} ${what}: ${message}`).join('\n');
