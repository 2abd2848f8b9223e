import type { CheckResult } from './target.ts';

/**
 * Says why nobody knows whether a package is healthy: none of its checks failed, and some could not be made here. Returns undefined
 * when every check was made. What the agent did not check is never `healthy`.
 */
export const unknownHealth = (
  checks: readonly CheckResult[],
): { readonly code: 'HEALTH_UNKNOWN'; readonly message: string } | undefined => {
  const skipped = checks.filter(({ outcome }) => outcome === 'skipped');
  if (skipped.length === 0 || checks.some(({ outcome }) => outcome === 'failed')) return undefined;
  return { code: 'HEALTH_UNKNOWN', message: skipped.map(({ message }) => message).join('; ') };
};
