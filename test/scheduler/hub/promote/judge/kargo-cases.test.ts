import { describe, expect, it } from 'vitest';
import type { CheckFacts } from '../../../../../scheduler/hub/promote/checks/check-records.ts';
import type { GateEntry } from '../../../../../scheduler/hub/promote/facts/decisions.ts';
import type { AgentFacts, GateFacts } from '../../../../../scheduler/hub/promote/facts/facts.ts';
import type { GateState } from '../../../../../scheduler/hub/promote/judge/verdict.ts';
import type { PromotionPolicy } from '../../../../../scheduler/model/promotion.ts';
import {
  agent,
  ago,
  approval,
  compliance,
  complies,
  decision,
  facts,
  judge,
  NOW,
  policy,
  promotion,
  SHARED,
} from '../gate/gate-cases.ts';

/**
 * Cases of Kargo's own tests (akuity/kargo at 1c764767), with their facts in our terms: a stage upstream is an agent with the
 * label `stage`, verified freight is a candidate with which that agent complies, freight is available if the gate is ready.
 */
type Case = {
  readonly name: string;
  readonly policy: PromotionPolicy | undefined;
  readonly facts: Partial<GateFacts>;
  readonly entries?: readonly GateEntry[];
  /** Whether Kargo lets the stage have the freight. */
  readonly theirs: boolean;
  readonly ours: GateState;
  /** Why the gate differs on purpose. */
  readonly differs?: string;
};

const HOUR = 3600;

const everyone = (soakHours = 0, more: Partial<PromotionPolicy> = {}): PromotionPolicy =>
  policy({
    compliance: compliance({ percent: 100, of: 'enrolled' }),
    soakSeconds: soakHours * HOUR,
    ...more,
  });
const stagesOf = (...names: readonly string[]): PromotionPolicy['compliance'] =>
  compliance({ atLeast: 1, require: names.map((stage) => ({ matchLabels: { stage } })) });
const allOf = (soakHours: number, ...names: readonly string[]): PromotionPolicy =>
  policy({ compliance: stagesOf(...names), soakSeconds: soakHours * HOUR });

const upstream = (name: string, state: AgentFacts['state'], more: Partial<AgentFacts> = {}): AgentFacts =>
  agent(`${name}/a`, { labels: { stage: name }, knownAt: ago(0), state, ...more });
const only = (state: AgentFacts['state'], more: Partial<AgentFacts> = {}): Partial<GateFacts> => ({
  agents: [upstream('uat', state, more)],
});
const NOT_YET: AgentFacts['state'] = { kind: 'waiting', why: 'runs release 3' };
const UNHEALTHY: AgentFacts['state'] = { kind: 'failed', why: 'CHECK_FAILED' };

/** The earlier environment has gone on to another candidate, which its agents run. */
const REPLACED: Partial<GateFacts> = {
  channels: [{ channel: 'qa/kiosk', since: null, now: 'release 5 of another candidate' }],
  agents: [upstream('uat', NOT_YET)],
};

const CHECKED = everyone(0, {
  checks: [{ name: 'analysis', url: 'https://ci.example/analysis', timeoutSeconds: 2 * HOUR }],
});
const analysis = (found: CheckFacts): Partial<GateFacts> => ({
  ...only(complies(2)),
  checks: new Map([['analysis', found]]),
});

const CASES: readonly Case[] = [
  // api/v1alpha1/stage_types_test.go, TestStage_IsFreightAvailable
  {
    name: 'stage and freight are in different namespaces',
    policy: everyone(),
    facts: REPLACED,
    theirs: false,
    ours: 'superseded',
  },
  {
    name: 'freight is approved for stage and stage requests freight from its origin',
    policy: everyone(0, { approvals: { required: 1, from: [], notAuthor: false } }),
    facts: only(NOT_YET),
    entries: [approval('ann')],
    theirs: true,
    ours: 'waiting',
    differs: 'an approval is one condition of the gate and replaces no other',
  },
  {
    name: 'stage accepts freight direct from origin',
    policy: undefined,
    facts: { agents: [] },
    theirs: true,
    ours: 'ready',
  },
  {
    name: 'freight is verified in an upstream; soak not required',
    policy: everyone(),
    facts: only(complies(0)),
    theirs: true,
    ours: 'ready',
  },
  {
    name: 'freight is verified in an upstream stage with no longestCompletedSoak; soak required',
    policy: everyone(1),
    facts: only(complies(0)),
    theirs: false,
    ours: 'waiting',
  },
  {
    name: 'freight is verified in an upstream stage with longestCompletedSoak; soak required but not elapsed',
    policy: everyone(2),
    facts: only(complies(1)),
    theirs: false,
    ours: 'waiting',
  },
  {
    name: 'freight is verified in an upstream stage with longestCompletedSoak; soak required and is elapsed',
    policy: everyone(1),
    facts: only(complies(1)),
    theirs: true,
    ours: 'ready',
  },
  {
    name: 'availability strategy all + freight is verified and soaked in one upstream stage, but not all',
    policy: allOf(1, 'uat', 'perf'),
    facts: { agents: [upstream('uat', complies(2)), upstream('perf', NOT_YET)] },
    theirs: false,
    ours: 'waiting',
  },
  {
    name: 'availability strategy all + freight is verified and soaked in all upstream stages',
    policy: allOf(1, 'uat', 'perf'),
    facts: { agents: [upstream('uat', complies(2)), upstream('perf', complies(2))] },
    theirs: true,
    ours: 'ready',
  },
  {
    name: 'freight from origin not requested',
    policy: everyone(),
    facts: { channels: [], agents: [] },
    theirs: false,
    ours: 'waiting',
  },
  // pkg/api/warehouse_test.go, TestListFreightFromWarehouse
  {
    name: 'success with VerifiedIn and RequiredSoakTime options: one of two stages is enough',
    policy: allOf(1),
    facts: { agents: [upstream('uat', complies(2)), upstream('perf', NOT_YET)] },
    theirs: true,
    ours: 'ready',
  },
  {
    name: 'success with VerifiedIn and RequiredSoakTime options: 30 minutes of an hour',
    policy: allOf(1),
    facts: only(complies(0.5)),
    theirs: false,
    ours: 'waiting',
  },
  {
    name: 'success with AvailabilityStrategy set to FreightAvailabilityStrategyAll: one stage soaked 30 minutes of an hour',
    policy: allOf(1, 'uat', 'perf'),
    facts: { agents: [upstream('uat', complies(2)), upstream('perf', complies(0.5))] },
    theirs: false,
    ours: 'waiting',
  },
  // api/v1alpha1/freight_types_test.go, TestFreight_GetLongestSoak
  {
    name: 'Freight is not currently in the Stage but was verified there',
    policy: everyone(1),
    facts: REPLACED,
    theirs: true,
    ours: 'superseded',
    differs: 'a candidate that the earlier environment no longer runs is not promoted',
  },
  {
    name: 'Freight is currently in the Stage but was never verified there',
    policy: everyone(1),
    facts: only(complies(1), { knownAt: null }),
    theirs: false,
    ours: 'waiting',
  },
  {
    name: 'Freight is currently in the Stage and has been verified there; current soak is longer',
    policy: everyone(2),
    facts: only(complies(2)),
    theirs: true,
    ours: 'ready',
  },
  {
    name: 'Freight is currently in the Stage and has been verified there; a previous soak was longer',
    policy: everyone(2),
    facts: only(complies(1)),
    theirs: true,
    ours: 'waiting',
    differs: 'soak is time without a break, and a candidate that came back begins again',
  },
  // api/v1alpha1/freight_types_test.go, TestFreightStatus_AddCurrentStage
  {
    name: 'already in current: a second promotion of the same freight keeps the time of the first',
    policy: policy({ soakSeconds: 2 * HOUR }),
    facts: { channels: [{ channel: 'qa/kiosk', since: { version: 4, issuedAt: ago(2) }, now: 'release 6' }] },
    theirs: true,
    ours: 'ready',
  },
  // pkg/controller/stages/regular_stages_test.go, TestRegularStageReconciler_verifyStageFreight
  {
    name: 'verifies without verification config',
    policy: everyone(),
    facts: only(complies(1)),
    theirs: true,
    ours: 'ready',
  },
  {
    name: 'skips verification when unhealthy',
    policy: everyone(),
    facts: only(UNHEALTHY),
    theirs: false,
    ours: 'waiting',
  },
  {
    name: 'skips verification with nil health status',
    policy: everyone(),
    facts: only(NOT_YET, { knownAt: null }),
    theirs: false,
    ours: 'waiting',
  },
  {
    name: 'continues existing non-terminal verification',
    policy: CHECKED,
    facts: analysis({ state: 'asked', at: ago(1) }),
    theirs: false,
    ours: 'waiting',
  },
  // pkg/controller/stages/regular_stages_test.go, TestRegularStageReconciler_markFreightVerifiedForStage
  {
    name: 'skips verification when last verification is not successful',
    policy: CHECKED,
    facts: analysis({ state: 'failed', at: ago(1), message: 'p95 of 900 ms' }),
    theirs: false,
    ours: 'waiting',
  },
  {
    name: 'marks freight as verified when not already verified',
    policy: CHECKED,
    facts: analysis({ state: 'passed', at: ago(1), message: '' }),
    theirs: true,
    ours: 'ready',
  },
  // pkg/controller/stages/regular_stages_test.go, TestRegularStageReconciler_autoPromoteFreight
  {
    name: 'active hold blocks auto-promotion',
    policy: everyone(0, { mode: 'automatic' }),
    facts: only(complies(1)),
    entries: [decision('pause')],
    theirs: false,
    ours: 'paused',
  },
  {
    name: 'auto-promotes new freight after hold is cleared (NewestFreight)',
    policy: everyone(0, { mode: 'automatic' }),
    facts: only(complies(1)),
    entries: [decision('pause'), decision('resume')],
    theirs: true,
    ours: 'ready',
  },
  {
    name: 'skips promotion when current freight is latest',
    policy: everyone(0, { mode: 'automatic' }),
    facts: only(complies(1)),
    entries: [promotion(SHARED)],
    theirs: false,
    ours: 'promoted',
  },
  // Without a test of theirs, by regular_stages.go: verifiedIn goes only with the stage
  {
    name: 'freight that became unhealthy after it was verified',
    policy: everyone(),
    facts: only(UNHEALTHY),
    theirs: true,
    ours: 'waiting',
    differs: 'a known fault of the candidate holds the gate until it ends',
  },
];

describe("Kargo's conditions of soak and availability", () => {
  it.each(CASES)('$name: $ours', ({ policy: wanted, facts: found, entries = [], theirs, ours, differs }) => {
    const { state } = judge(wanted, facts(found), { entries, now: NOW });
    expect(state).toBe(ours);
    // A row gives a reason exactly if the outcomes differ.
    expect(differs !== undefined).toBe(theirs !== (state === 'ready'));
  });
});
