import { formatCount } from '#bundles/format-count';
import { type Timestamp, formatTime, parseTime } from '#bundles/time';
import { isSelected } from '#bundles/trust/accept/is-selected';
import type { Share, StagePlan } from '../../../model/promotion.ts';
import type { RolloutProgress } from '../../../release/rollout/rollout-progress.ts';

/** Facts about an agent of the rollout's channel. Agents that left the fleet are not included. */
export type AgentFact = {
  readonly site: string;
  readonly agent: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly enrolledAt: Timestamp;
  /** When it was last heard; null: never. */
  readonly heardAt: Timestamp | null;
  /** Index of the first stage that reaches it; absent: by the selection of the stages. */
  readonly stage?: number;
  readonly state:
    | { readonly kind: 'complies'; readonly since: Timestamp }
    | { readonly kind: 'failed'; readonly at: Timestamp; readonly why: string }
    | { readonly kind: 'pending'; readonly why: string };
};

/** The plan of a rollout as it is judged: of a release, or of values. */
export type JudgedPlan = StagePlan & {
  /** null: there is nothing that a take-back could return to. */
  readonly before: object | null;
  /** How a person approves one of its stages; absent: as those of a release. */
  readonly approve?: string;
};

export type StageState = 'waiting' | 'running' | 'soaking' | 'done' | 'failed' | 'paused';

export type StageVerdict = {
  readonly name: string;
  readonly state: StageState;
  readonly startedAt: Timestamp | null;
  /** Agents that the stage reaches, including earlier stages. */
  readonly agents: number;
  readonly complies: number;
  readonly failed: number;
  /** Agents that were not heard for longer than the policy allows, and do not count. */
  readonly excluded: number;
  readonly approvals: { readonly found: number; readonly needed: number };
  /** Agents that the stage waits for: the first ten of `waiting`, '<site>/<agent>: why'. */
  readonly holding: readonly string[];
  readonly waiting: number;
};

/** Next step of the scheduler. */
export type NextStep =
  | { readonly kind: 'advance'; readonly stage: string }
  /** The last stage complied and soaked. */
  | { readonly kind: 'complete' }
  /** `earliest`: null if no time is known, because it takes reports or people. */
  | { readonly kind: 'wait'; readonly earliest: Timestamp | null; readonly why: string }
  | { readonly kind: 'pause'; readonly stage: string; readonly why: string }
  | { readonly kind: 'take-back'; readonly stage: string; readonly why: string }
  | { readonly kind: 'none'; readonly why: string };

export type RolloutVerdict = { readonly stages: readonly StageVerdict[]; readonly next: NextStep };

/** With the agents of each stage that comply. */
export type RolloutJudgement = RolloutVerdict & { readonly compliant: readonly (readonly AgentFact[])[] };

const NAMED = 10;

/**
 * Judges each stage of a rollout and the next step. Pure: the loop, `rollout status` and the simulation call it.
 * @param progress folded decisions (rollout-progress.ts)
 */
export const judgeRollout = (
  plan: JudgedPlan,
  progress: RolloutProgress,
  agents: readonly AgentFact[],
  now: Date,
): RolloutJudgement => {
  const judged = plan.stages.map((_, at) => judgeStage(plan, progress, agents, at, now));
  const next = nextStep(plan, progress, judged, now);
  const stopped = progress.paused !== undefined || progress.takenBack;
  const stages = judged.map(({ verdict }, at) =>
    stopped && at === progress.started.length - 1 && verdict.state !== 'done'
      ? { ...verdict, state: verdict.state === 'failed' ? verdict.state : ('paused' as const) }
      : verdict,
  );
  return { stages, next, compliant: judged.map(({ compliant }) => compliant) };
};

type Judged = {
  readonly verdict: StageVerdict;
  readonly compliant: readonly AgentFact[];
  /** When its soak ends; undefined while agents or their reports are missing. */
  readonly soakedAt: Date | undefined;
  /** Why it failed. */
  readonly failure: string | undefined;
};

const judgeStage = (
  plan: JudgedPlan,
  progress: RolloutProgress,
  agents: readonly AgentFact[],
  at: number,
  now: Date,
): Judged => {
  const stage = plan.stages[at];
  if (!stage) throw new RangeError(`the plan has no stage ${at}`);
  const startedAt = progress.started[at] ?? null;
  const selected = agents.filter((one) => reaches(plan, at, one));
  const excluded = plan.absent?.then === 'exclude' ? selected.filter((one) => isAbsent(one, plan, now)) : [];
  const left = new Set(excluded);
  const counted = selected.filter((one) => !left.has(one));
  const compliant = counted.filter((one) => complies(one, plan, now));
  const failed = counted.filter(({ state }) => state.kind === 'failed' && !isPast(state.at, progress));
  const isDone = new Set([...compliant, ...failed]);
  // An agent that joined after the stage began neither holds it back nor starts its soak again.
  const wasThere = ({ enrolledAt }: AgentFact): boolean => startedAt === null || enrolledAt <= startedAt;
  const members = counted.filter(wasThere);
  const pending = members.filter((one) => !isDone.has(one));
  // Silence proves nothing: if no agent complies, those that joined later or are excluded hold the stage.
  const silent = [...(members.length === 0 ? counted.filter((one) => !isDone.has(one)) : []), ...excluded];
  const holding = pending.length === 0 && compliant.length === 0 ? silent : pending;
  const common = {
    name: stage.name,
    startedAt,
    agents: selected.length,
    complies: compliant.length,
    failed: failed.length,
    excluded: excluded.length,
    approvals: { found: progress.approvals.get(stage.name)?.size ?? 0, needed: stage.approvals },
    holding: holding
      .slice(0, NAMED)
      .map(
        (one) => `${one.site}/${one.agent}: ${left.has(one) ? whyExcluded(one) : whyPending(one, plan, now)}`,
      ),
    waiting: holding.length,
  };
  if (startedAt === null)
    return { verdict: { ...common, state: 'waiting' }, compliant, soakedAt: undefined, failure: undefined };
  if (exceeds(failed.length, counted.length, stage.maxFailures)) {
    const names = failed.slice(0, NAMED).map(({ site, agent }) => `${site}/${agent}`);
    const failure = `${failed.length} of ${counted.length} agents of stage ${stage.name} failed: ${names.join(', ')}`;
    return { verdict: { ...common, state: 'failed' }, compliant, soakedAt: undefined, failure };
  }
  const shown = members.length > 0 ? compliant.filter(wasThere) : firstOf(compliant);
  const soakedAt = holding.length > 0 ? undefined : soakEnd(startedAt, shown, stage.soakSeconds);
  // The next stage has begun, by the rule or by a person.
  const isBehind = progress.started.length > at + 1;
  const waiting = soakedAt ? 'soaking' : 'running';
  const state = isBehind || (soakedAt && soakedAt <= now) ? 'done' : waiting;
  return { verdict: { ...common, state }, compliant, soakedAt, failure: undefined };
};

/** Whether a stage of a plan reaches an agent. */
export const reaches = (
  { stages }: Pick<StagePlan, 'stages'>,
  at: number,
  one: Pick<AgentFact, 'site' | 'agent' | 'labels' | 'stage'>,
): boolean => {
  const rollout = stages[at]?.rollout;
  if (one.stage !== undefined) return one.stage <= at;
  return rollout !== undefined && isSelected(rollout, one, one.labels);
};

/** A failure that was known when a person resumed the rollout stops it only once. */
const isPast = (at: Timestamp, { resumedAt }: RolloutProgress): boolean =>
  resumedAt !== undefined && at <= resumedAt;

const complies = ({ state, heardAt }: AgentFact, { freshnessSeconds }: JudgedPlan, now: Date): boolean =>
  state.kind === 'complies' && (freshnessSeconds === null || !isOlder(heardAt, freshnessSeconds, now));

const isAbsent = ({ heardAt, enrolledAt }: AgentFact, { absent }: JudgedPlan, now: Date): boolean =>
  absent !== null && isOlder(heardAt ?? enrolledAt, absent.afterSeconds, now);

const isOlder = (at: Timestamp | null, seconds: number, now: Date): boolean =>
  at === null || now.getTime() - Date.parse(at) > seconds * 1000;

const whyPending = ({ state, heardAt }: AgentFact, { freshnessSeconds }: JudgedPlan, now: Date): string => {
  switch (state.kind) {
    case 'pending':
      return state.why;
    case 'failed':
      return `failed before the rollout was resumed: ${state.why}`;
    case 'complies':
      return freshnessSeconds !== null && isOlder(heardAt, freshnessSeconds, now)
        ? `its last report is of ${heardAt ?? 'never'}`
        : 'complies';
  }
};

const whyExcluded = ({ heardAt }: AgentFact): string =>
  `excluded, ${heardAt === null ? 'never heard' : `not heard since ${heardAt}`}, and no other agent complies`;

const exceeds = (failed: number, of: number, most: Share): boolean =>
  'count' in most ? failed > most.count : failed * 100 > most.percent * of;

/**
 * If all agents of a stage joined after it began, the soak starts with the first agent that complied, so that further agents do
 * not restart it.
 */
const firstOf = (compliant: readonly AgentFact[]): readonly AgentFact[] => {
  const since = ({ state }: AgentFact): Timestamp => (state.kind === 'complies' ? state.since : '');
  return compliant.toSorted((a, b) => (since(a) < since(b) ? -1 : 1)).slice(0, 1);
};

/** The soak begins when the stage's last agent complies. */
const soakEnd = (startedAt: Timestamp, compliant: readonly AgentFact[], seconds: number): Date => {
  const from = compliant.reduce(
    (last, { state }) => (state.kind === 'complies' && state.since > last ? state.since : last),
    startedAt,
  );
  return new Date(parseTime(from).getTime() + seconds * 1000);
};

const nextStep = (
  plan: JudgedPlan,
  progress: RolloutProgress,
  judged: readonly Judged[],
  now: Date,
): NextStep => {
  const at = progress.started.length - 1;
  const current = judged[at];
  const stage = plan.stages[at];
  if (!current || !stage) return { kind: 'none', why: 'it has not started' };
  if (progress.isComplete) return { kind: 'none', why: 'it is complete' };
  if (progress.takenBack) return { kind: 'none', why: 'it was taken back' };
  if (progress.paused !== undefined)
    return {
      kind: 'none',
      why: `it is paused: ${progress.paused}; "fleet-scheduler rollout resume" continues it`,
    };
  const failure = judged.find(({ failure: found }) => found !== undefined)?.failure;
  if (failure !== undefined) return onFailure(plan, stage.name, failure);
  const upcoming = judged[at + 1]?.verdict;
  const soaked = current.soakedAt !== undefined && current.soakedAt <= now;
  if (!upcoming && soaked) return { kind: 'complete' };
  const deadline = deadlineOf(plan, progress);
  if (deadline && deadline <= now)
    return onFailure(plan, stage.name, `it was not complete by its deadline, ${formatTime(deadline)}`);
  if (current.soakedAt === undefined)
    return {
      kind: 'wait',
      earliest: null,
      why: `${formatCount(current.verdict.waiting, 'agent')} of stage ${stage.name} must still comply`,
    };
  if (!soaked)
    return {
      kind: 'wait',
      earliest: formatTime(current.soakedAt),
      why: `the soak of stage ${stage.name} is not over`,
    };
  if (!upcoming) return { kind: 'complete' };
  const { found, needed } = upcoming.approvals;
  if (found < needed)
    return {
      kind: 'wait',
      earliest: null,
      why: `stage ${upcoming.name} has ${found} of ${needed} approvals; ${plan.approve ?? `"fleet-scheduler approve" with --stage ${upcoming.name}`} adds one`,
    };
  return { kind: 'advance', stage: upcoming.name };
};

const onFailure = ({ onFailure: request, before }: JudgedPlan, stage: string, why: string): NextStep =>
  request === 'take-back' && before !== null
    ? { kind: 'take-back', stage, why }
    : { kind: 'pause', stage, why };

/** Counted from the start; a resume renews the time. */
const deadlineOf = (
  { deadlineSeconds }: JudgedPlan,
  { started, resumedAt }: RolloutProgress,
): Date | undefined => {
  const from = resumedAt ?? started[0];
  if (deadlineSeconds === null || from === undefined) return undefined;
  return new Date(parseTime(from).getTime() + deadlineSeconds * 1000);
};
