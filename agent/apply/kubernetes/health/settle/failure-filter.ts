import type { Verdict } from '../verdict.ts';

/** Takes the current verdicts and returns the keys of objects that have been Failed for their patience. */
export type FailureFilter = (verdicts: ReadonlyMap<string, Verdict>, atMs: number) => ReadonlySet<string>;

/**
 * Records since when each object is Failed. An object that may recover counts as failed after its patience. The time restarts whenever
 * another object becomes Current for the first time, because the failed one may have waited for it.
 */
export const createFailureFilter = (): FailureFilter => {
  const failedSince = new Map<string, number>();
  const everCurrent = new Set<string>();
  let progress = Number.NEGATIVE_INFINITY;
  return (verdicts, atMs) => {
    for (const [key, { status }] of verdicts) {
      if (status !== 'Current') continue;
      if (!everCurrent.has(key)) progress = atMs;
      everCurrent.add(key);
      failedSince.delete(key);
    }
    const believed = new Set<string>();
    for (const [key, verdict] of verdicts) {
      if (verdict.status !== 'Failed') continue;
      const since = failedSince.get(key) ?? atMs;
      failedSince.set(key, since);
      const held = atMs - Math.max(since, progress);
      if (verdict.patienceMs === 0 || held >= verdict.patienceMs) believed.add(key);
    }
    return believed;
  };
};
