import { formatTime, parseTime, type Timestamp } from '#bundles/time';
import type { RolloutProgress } from '../../../release/rollout/rollout-progress.ts';
import { type AgentFact, type JudgedPlan, judgeRollout, reaches } from './judge-rollout.ts';

export type SimulatedStage = {
  readonly stage: string;
  readonly at: Timestamp;
  /** Agents that it adds, '<site>/<agent>', sorted. */
  readonly agents: readonly string[];
  /** Agents that it reaches, including earlier stages. */
  readonly total: number;
};

export type Simulation = {
  readonly stages: readonly SimulatedStage[];
  readonly completeAt: Timestamp | null;
};

type Named = Pick<AgentFact, 'site' | 'agent' | 'labels' | 'stage'>;

/**
 * Simulates which agents get the release when, if each agent complies as soon as it is selected and each approval is given at
 * once. Uses judgeRollout, as the real rollout does.
 */
export const simulateRollout = (plan: JudgedPlan, agents: readonly Named[], start: Date): Simulation => {
  const approvals = new Map(
    plan.stages.map(({ name, approvals: needed }) => [
      name,
      new Set(Array.from({ length: needed }, (_, at) => `key ${at}`)),
    ]),
  );
  let now = start;
  let progress: RolloutProgress = {
    started: [formatTime(start)],
    paused: undefined,
    ownPause: undefined,
    resumedAt: undefined,
    takenBack: false,
    isComplete: false,
    approvals,
  };
  for (;;) {
    const facts = agents.map((agent) => compliantFact(plan, progress.started, agent, now));
    const { next } = judgeRollout(plan, progress, facts, now);
    if (next.kind === 'advance') progress = { ...progress, started: [...progress.started, formatTime(now)] };
    else if (next.kind === 'wait' && next.earliest !== null) now = parseTime(next.earliest);
    else {
      const isComplete = next.kind === 'complete';
      return {
        stages: timeline(plan, progress.started, agents),
        completeAt: isComplete ? formatTime(now) : null,
      };
    }
  }
};

/** An agent that complies from the moment on when a stage first selects it. */
const compliantFact = (
  plan: JudgedPlan,
  started: readonly Timestamp[],
  agent: Named,
  now: Date,
): AgentFact => {
  const since = started.find((_, at) => reaches(plan, at, agent));
  return {
    ...agent,
    enrolledAt: started[0] ?? formatTime(now),
    heardAt: formatTime(now),
    state: since === undefined ? { kind: 'pending', why: 'not selected' } : { kind: 'complies', since },
  };
};

/** The stages that began, and the agents that each one added. */
export const timeline = (
  plan: JudgedPlan,
  started: readonly Timestamp[],
  agents: readonly Named[],
): readonly SimulatedStage[] =>
  started.map((at, index) => {
    const selected = agents.filter((agent) => reaches(plan, index, agent));
    const added = index === 0 ? selected : selected.filter((agent) => !reaches(plan, index - 1, agent));
    return {
      stage: plan.stages[index]?.name ?? '',
      at,
      agents: added.map(({ site, agent }) => `${site}/${agent}`).toSorted(),
      total: selected.length,
    };
  });
