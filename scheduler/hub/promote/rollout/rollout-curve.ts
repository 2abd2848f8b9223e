import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import type { AgentFact } from './judge-rollout.ts';

export type CurvePoint = {
  readonly at: Timestamp;
  /** Of each stage, its agents that comply now and have done so since then. A stage includes the stages before it. */
  readonly complies: readonly number[];
};

const POINTS = 100;

/**
 * How the agents of a rollout came to comply, from its start to now. An agent that complied and does not any more is in no point, so the
 * last point has the counts of the stages. Empty before the start. @param compliant agents of each stage that comply
 */
export const curveOf = (
  compliant: readonly (readonly AgentFact[])[],
  start: Timestamp | undefined,
  now: Date,
): readonly CurvePoint[] => {
  if (start === undefined) return [];
  const began = parseTime(start).getTime();
  const stepMs = (now.getTime() - began) / POINTS;
  const points = Array.from({ length: POINTS + 1 }, (_, index) =>
    formatTime(index === POINTS ? now : new Date(began + Math.floor(index * stepMs))),
  );
  const stages = compliant.map((agents) => countUntil(points, agents));
  return points.map((at, index) => ({ at, complies: stages.map((counts) => counts[index] ?? 0) }));
};

/** How many agents comply at each point. Times are compared as text: there are as many as agents. @param points sorted */
const countUntil = (points: readonly Timestamp[], agents: readonly AgentFact[]): readonly number[] => {
  const begin = points.map(() => 0);
  for (const { state } of agents) {
    if (state.kind !== 'complies') continue;
    let [low, high] = [0, points.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if ((points[middle] ?? '') < state.since) low = middle + 1;
      else high = middle;
    }
    if (low < begin.length) begin[low] = (begin[low] ?? 0) + 1;
  }
  let sum = 0;
  return begin.map((count) => (sum += count));
};
