import type { Verdict } from '../verdict.ts';

/** Takes the verdicts of one moment. Returns the keys of those that are Failed and believed. */
export type Believe = (verdicts: ReadonlyMap<string, Verdict>, atMs: number) => ReadonlySet<string>;

/**
 * Remembers since when each object is Failed: one that may recover is believed when it stayed so for its
 * patience, counted anew whenever another object became Current for the first time, as that may be what it waited for.
 */
export const believeFailures = (): Believe => {
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
