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
  const since = compliant.map((agents) =>
    agents
      .flatMap(({ state }) => (state.kind === 'complies' ? [parseTime(state.since).getTime()] : []))
      .toSorted((a, b) => a - b),
  );
  const stepMs = (now.getTime() - began) / POINTS;
  return Array.from({ length: POINTS + 1 }, (_, index) => {
    const at = index === POINTS ? now : new Date(began + Math.floor(index * stepMs));
    return { at: formatTime(at), complies: since.map((times) => countUntil(times, at.getTime())) };
  });
};

/** @param times sorted */
const countUntil = (times: readonly number[], end: number): number => {
  const found = times.findIndex((time) => time > end);
  return found < 0 ? times.length : found;
};
