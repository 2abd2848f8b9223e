import type { CheckResult, Drift } from './target.ts';

/** A skipped check, for an object that cannot be compared. */
export const uncheckedCheck = ({ key, message }: Drift): CheckResult => ({
  name: key,
  outcome: 'skipped',
  message,
  key,
});

/**
 * Returns why the health of a package is unknown: no check failed, and some were skipped. Returns undefined when every check
 * ran or one failed. A package with skipped checks is never `healthy`.
 */
export const unknownHealth = (
  checks: readonly CheckResult[],
): { readonly code: 'HEALTH_UNKNOWN'; readonly message: string } | undefined => {
  const skipped = checks.filter(({ outcome }) => outcome === 'skipped');
  if (skipped.length === 0 || checks.some(({ outcome }) => outcome === 'failed')) return undefined;
  return { code: 'HEALTH_UNKNOWN', message: skipped.map(({ message }) => message).join('; ') };
};
