import { describe, expect, it } from 'vitest';
import { formatTime } from '#bundles/time';
import type { RolloutPolicy, RolloutStage, Share } from '../../../../../scheduler/model/promotion.ts';
import {
  type AgentFact,
  judgeRollout,
  type NextStep,
} from '../../../../../scheduler/hub/promote/rollout/judge-rollout.ts';
import { simulateRollout } from '../../../../../scheduler/hub/promote/rollout/simulate-rollout.ts';
import { planRollout } from '../../../../../scheduler/release/rollout/plan-rollout.ts';
import type { RolloutProgress } from '../../../../../scheduler/release/rollout/rollout-progress.ts';
import { policyOf, stageOf, RELEASE } from '../../../release/rollout/rollout-world.ts';

/**
 * Cases of KubeFleet's own tests (kubefleet-dev/kubefleet at e160c1cd, pkg/controllers/updaterun), with their facts in our terms:
 * a cluster is an agent, a TimedWait is the soak, an approval after a stage is an approval of the next one, and a run that is
 * aborted is a rollout that pauses.
 */
type Case = {
  readonly name: string;
  readonly stages?: readonly RolloutStage[];
  readonly policy?: Partial<RolloutPolicy>;
  readonly progress: RolloutProgress;
  readonly agents: readonly AgentFact[];
  readonly hour: number;
  readonly theirs: NextStep['kind'];
  readonly ours: NextStep['kind'];
  /** Why the rollout differs on purpose. */
  readonly differs?: string;
};

const START = new Date('2026-11-23T08:00:00Z');
const HOUR = 3600;
const at = (hours: number): string => formatTime(new Date(START.getTime() + hours * HOUR * 1000));

const ringOf = (ring: string, more: Partial<RolloutStage> = {}): RolloutStage =>
  stageOf(ring, { selector: { matchLabels: { ring } }, ...more });
const CANARY = ringOf('canary', { soakSeconds: 4 * HOUR });
const PROD = stageOf('prod', { percent: 100 });
const APPROVED = stageOf('prod', { percent: 100, approvals: 1 });

const started = (...hours: readonly number[]): RolloutProgress => ({
  started: hours.map(at),
  paused: undefined,
  ownPause: undefined,
  resumedAt: undefined,
  takenBack: false,
  isComplete: false,
  approvals: new Map(),
});
const approved = (progress: RolloutProgress, stage: string): RolloutProgress => ({
  ...progress,
  approvals: new Map([[stage, new Set(['key 1'])]]),
});

const cluster = (name: string, ring: string, state: AgentFact['state'], enrolledHour = -1000): AgentFact => ({
  site: name,
  agent: 'line-1',
  labels: { ring },
  enrolledAt: at(enrolledHour),
  heardAt: at(0),
  state,
});
const available = (hour: number): AgentFact['state'] => ({ kind: 'complies', since: at(hour) });
const failed = (hour: number): AgentFact['state'] => ({ kind: 'failed', at: at(hour), why: 'HEALTH' });
const UPDATING: AgentFact['state'] = { kind: 'pending', why: 'behind' };

const CASES: readonly Case[] = [
  // execution_test.go, TestCheckClusterUpdateResult
  {
    name: 'true if the binding has available condition',
    progress: started(0),
    agents: [cluster('a', 'canary', available(0))],
    hour: 4,
    theirs: 'advance',
    ours: 'advance',
  },
  {
    name: 'false but no error if the binding is not available yet',
    progress: started(0),
    agents: [cluster('a', 'canary', UPDATING)],
    hour: 4,
    theirs: 'wait',
    ours: 'wait',
  },
  {
    name: 'false and error if the binding has false applied condition',
    progress: started(0),
    agents: [cluster('a', 'canary', failed(1))],
    hour: 1,
    theirs: 'wait',
    ours: 'pause',
    differs:
      'they retry every error without end; a failed check of an agent is a fact that a person looks at',
  },
  // execution_test.go, TestExecuteUpdatingStage_Error
  {
    name: 'cluster update failed',
    progress: started(0),
    agents: [cluster('a', 'canary', failed(1)), cluster('b', 'canary', available(0))],
    hour: 1,
    theirs: 'pause',
    ours: 'pause',
  },
  {
    name: 'missing binding in map lookup: the cluster has left',
    progress: started(0),
    agents: [cluster('b', 'canary', available(0))],
    hour: 4,
    theirs: 'pause',
    ours: 'advance',
    differs: 'an agent that was revoked no longer counts, and the others are not held back',
  },
  // execution_test.go, TestExecute_ZeroClustersSkipsEntireStage
  {
    name: 'kubefleet#610: zero clusters should skip entire stage',
    stages: [ringOf('none'), PROD],
    progress: started(0),
    agents: [cluster('a', 'prod', UPDATING)],
    hour: 0,
    theirs: 'advance',
    ours: 'advance',
  },
  {
    name: 'kubefleet#610: zero clusters should skip entire stage with its wait time',
    stages: [ringOf('none', { soakSeconds: 4 * HOUR }), PROD],
    progress: started(0),
    agents: [cluster('a', 'prod', UPDATING)],
    hour: 0,
    theirs: 'advance',
    ours: 'wait',
    differs: 'a wrong label makes a stage empty, too, and must not hand the release to everyone at once',
  },
  {
    name: 'kubefleet#610: zero clusters should skip entire stage including before-stage tasks',
    stages: [CANARY, APPROVED],
    progress: started(0),
    agents: [cluster('a', 'canary', available(0))],
    hour: 4,
    theirs: 'complete',
    ours: 'wait',
    differs: 'the last stage also decides about agents that enroll later, so its approval is never skipped',
  },
  // execution_integration_test.go, double stages
  {
    name: 'keep waiting for the 1st cluster while it is not available, and report it as stuck',
    progress: started(0),
    agents: [cluster('a', 'canary', UPDATING)],
    hour: 900,
    theirs: 'wait',
    ours: 'wait',
  },
  {
    name: 'all clusters are available and the wait time has not passed',
    progress: started(0),
    agents: [cluster('a', 'canary', available(0)), cluster('b', 'canary', available(2))],
    hour: 5,
    theirs: 'wait',
    ours: 'wait',
  },
  {
    name: 'complete the 1st stage after wait time passed and approval request approved',
    stages: [CANARY, APPROVED],
    progress: approved(started(0), 'prod'),
    agents: [cluster('a', 'canary', available(0)), cluster('b', 'canary', available(2))],
    hour: 6,
    theirs: 'advance',
    ours: 'advance',
  },
  {
    name: 'not complete the 1st stage when it is approved and the wait time has not passed',
    stages: [CANARY, APPROVED],
    progress: approved(started(0), 'prod'),
    agents: [cluster('a', 'canary', available(2))],
    hour: 5,
    theirs: 'wait',
    ours: 'wait',
  },
  {
    name: 'not start rolling out 2nd stage before its approval',
    stages: [CANARY, APPROVED],
    progress: started(0),
    agents: [cluster('a', 'canary', available(0))],
    hour: 9,
    theirs: 'wait',
    ours: 'wait',
  },
  {
    name: 'complete the update run when the clusters of the last stage are available',
    progress: started(0, 4),
    agents: [cluster('a', 'canary', available(0)), cluster('b', 'prod', available(5))],
    hour: 5,
    theirs: 'complete',
    ours: 'complete',
  },
  // execution_test.go, TestCheckBeforeStageTasksStatus_NegativeCases
  {
    name: 'err if Approval request has wrong target stage in spec',
    stages: [CANARY, APPROVED],
    progress: approved(started(0), 'canary'),
    agents: [cluster('a', 'canary', available(0))],
    hour: 4,
    theirs: 'pause',
    ours: 'wait',
    differs: 'an approval of something else does not count, and breaks nothing',
  },
  // validation_integration_test.go
  {
    name: 'fail to validate if the number of clusters has changed in a stage: one joined and is not updated yet',
    progress: started(0),
    agents: [cluster('a', 'canary', available(0)), cluster('new', 'canary', UPDATING, 1)],
    hour: 4,
    theirs: 'pause',
    ours: 'advance',
    differs: 'an agent that enrolled after the stage began does not hold it back',
  },
  {
    name: 'fail to validate if the number of clusters has changed in a stage: one joined and became available',
    progress: started(0),
    agents: [cluster('a', 'canary', available(0)), cluster('new', 'canary', available(3), 3)],
    hour: 4,
    theirs: 'pause',
    ours: 'advance',
    differs: 'an agent that enrolled after the stage began does not start its soak again',
  },
  {
    name: 'fail to validate if the cluster name has changed in a stage: one left and one joined',
    progress: started(0),
    agents: [cluster('a', 'canary', available(0)), cluster('new', 'canary', failed(3), 3)],
    hour: 4,
    theirs: 'pause',
    ours: 'pause',
  },
  // stop_integration_test.go
  {
    name: 'accept the approval request and not rollout 1st stage while in Stop state',
    stages: [CANARY, APPROVED],
    progress: { ...approved(started(0), 'prod'), paused: 'a person stopped it' },
    agents: [cluster('a', 'canary', available(0))],
    hour: 9,
    theirs: 'none',
    ours: 'none',
  },
  {
    name: 'continue executing stage 1 of the update run when state is Run',
    progress: { ...started(0), resumedAt: at(9) },
    agents: [cluster('a', 'canary', available(0)), cluster('b', 'canary', UPDATING)],
    hour: 9,
    theirs: 'wait',
    ours: 'wait',
  },
  // Without a test of theirs, by execution.go: executeUpdatingStage
  {
    name: 'keep waiting for the 1st cluster, with a deadline, which they do not have',
    policy: { deadlineSeconds: 24 * HOUR },
    progress: started(0),
    agents: [cluster('a', 'canary', UPDATING)],
    hour: 24,
    theirs: 'wait',
    ours: 'pause',
    differs: 'a policy may limit how long a rollout takes',
  },
  {
    name: 'a cluster of a succeeded stage that becomes unavailable afterwards',
    progress: started(0, 4),
    agents: [cluster('a', 'canary', failed(5)), cluster('b', 'prod', UPDATING)],
    hour: 5,
    theirs: 'wait',
    ours: 'pause',
    differs: 'they look at a cluster until it succeeds; here each stage holds those before, up to the end',
  },
];

const planOf = (stages: readonly RolloutStage[], policy: Partial<RolloutPolicy> = {}) =>
  planRollout(policyOf(stages, policy), RELEASE);

describe("KubeFleet's staged update runs", () => {
  it.each(CASES)(
    '$name: $ours',
    ({ stages = [CANARY, PROD], policy, progress, agents, hour, theirs, ours, differs }) => {
      const { next } = judgeRollout(planOf(stages, policy), progress, agents, new Date(at(hour)));
      expect(next.kind).toBe(ours);
      // A row gives a reason exactly if the outcomes differ.
      expect(differs !== undefined).toBe(theirs !== ours);
    },
  );
});

type StagesCase = {
  readonly name: string;
  readonly stages: readonly RolloutStage[];
  /** Clusters by stage; undefined: they refuse the run. */
  readonly theirs: readonly (readonly string[])[] | undefined;
  readonly ours: readonly (readonly [stage: string, hour: number, ...agents: readonly string[]])[];
  readonly completeHour: number;
  readonly differs?: string;
};

const FLEET = ['canary', 'prod'].flatMap((ring) =>
  [1, 2].map((at) => cluster(`${ring}-${at}`, ring, UPDATING)),
);

const STAGES: readonly StagesCase[] = [
  // initialization_integration_test.go, computeRunStageStatus
  {
    name: 'generate the cluster update stage in the status as expected, with the wait time of each stage',
    stages: [CANARY, ringOf('prod', { soakSeconds: 2 * HOUR }), stageOf('all', { percent: 100 })],
    theirs: [['canary-1', 'canary-2'], ['prod-1', 'prod-2'], []],
    ours: [
      ['canary', 0, 'canary-1', 'canary-2'],
      ['prod', 4, 'prod-1', 'prod-2'],
      ['all', 6],
    ],
    completeHour: 6,
  },
  {
    name: 'fail to initialize if some cluster appears in multiple stages',
    stages: [CANARY, PROD],
    theirs: undefined,
    ours: [
      ['canary', 0, 'canary-1', 'canary-2'],
      ['prod', 4, 'prod-1', 'prod-2'],
    ],
    completeHour: 4,
    differs: 'stages add up, and an agent belongs to the first one that selects it',
  },
  {
    name: 'fail to initialize if some cluster is not selected by any stage',
    stages: [CANARY],
    theirs: undefined,
    ours: [
      ['canary', 0, 'canary-1', 'canary-2'],
      ['rest', 4, 'prod-1', 'prod-2'],
    ],
    completeHour: 4,
    differs: 'a stage for the rest follows the last one',
  },
  {
    name: 'select all scheduled clusters if labelSelector is empty',
    stages: [stageOf('all', { percent: 100 })],
    theirs: [['canary-1', 'canary-2', 'prod-1', 'prod-2']],
    ours: [['all', 0, 'canary-1', 'canary-2', 'prod-1', 'prod-2']],
    completeHour: 0,
  },
];

describe("KubeFleet's stages", () => {
  it.each(STAGES)('$name', ({ stages, theirs, ours, completeHour, differs }) => {
    const simulated = simulateRollout(planOf(stages), FLEET, START);
    expect(simulated).toMatchObject({
      stages: ours.map(([stage, hour, ...agents]) => ({
        stage,
        at: at(hour),
        agents: agents.map((name) => `${name}/line-1`),
      })),
      completeAt: at(completeHour),
    });
    const reached = ours.map(([, , ...agents]) => agents);
    expect(differs === undefined).toBe(JSON.stringify(theirs) === JSON.stringify(reached));
  });
});

type ShareCase = {
  readonly name: string;
  readonly share: Share;
  readonly of: number;
  readonly theirs: number;
  readonly ours: number;
  readonly differs?: string;
};

/** How a share of agents is rounded: theirs bounds how many are updated at once (maxConcurrency), ours how many may fail. */
const SHARES: readonly ShareCase[] = [
  // execution_test.go, TestCalculateMaxConcurrencyValue
  { name: 'integer value - less than cluster count', share: { count: 3 }, of: 10, theirs: 3, ours: 3 },
  { name: 'integer value - equal to cluster count', share: { count: 10 }, of: 10, theirs: 10, ours: 10 },
  { name: 'percentage value - 50%', share: { percent: 50 }, of: 10, theirs: 5, ours: 5 },
  { name: 'percentage value - 33% rounds down', share: { percent: 33 }, of: 10, theirs: 3, ours: 3 },
  { name: 'percentage value - 100%', share: { percent: 100 }, of: 10, theirs: 10, ours: 10 },
  { name: 'percentage value - 25% with 7 clusters', share: { percent: 25 }, of: 7, theirs: 1, ours: 1 },
  {
    name: 'percentage value - non zero percentage with cluster count equal to 1',
    share: { percent: 10 },
    of: 1,
    theirs: 1,
    ours: 0,
    differs: 'one update at a time always has to go on, and no failure has to be allowed',
  },
];

describe("KubeFleet's shares", () => {
  it.each(SHARES)('$name', ({ share, of, theirs, ours, differs }) => {
    const plan = planOf([{ ...CANARY, maxFailures: share }, PROD]);
    const goesOn = (count: number): boolean => {
      const agents = Array.from({ length: of }, (_, index) =>
        cluster(`a${index}`, 'canary', index < count ? failed(1) : available(0)),
      );
      return judgeRollout(plan, started(0), agents, new Date(at(4))).next.kind === 'advance';
    };
    const tolerated = Array.from({ length: of + 1 }, (_, count) => count).findLast(goesOn);
    expect(tolerated).toBe(ours);
    expect(differs !== undefined).toBe(theirs !== ours);
  });
});
