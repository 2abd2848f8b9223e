import { formatTime } from '#bundles/time';
import type { PromotionPolicy } from '../../../model/promotion.ts';
import type { AgentFacts } from '../facts/facts.ts';

/** An agent as the policy sees it at one time. */
export type JudgedAgent = AgentFacts & {
  /** Its newest word is young enough to satisfy anything. */
  readonly fresh: boolean;
  /** Not heard for longer than the policy's `absent` says. */
  readonly absent: boolean;
  /** It complies, and its word is fresh. */
  readonly complies: boolean;
  /** Since when it complies without a break, in ms; undefined if it does not. */
  readonly since: number | undefined;
  /** Seconds for which its own words show that it complied without a break; 0 if it does not. */
  readonly soakedSeconds: number;
  /** Why it does not comply; undefined if it does. */
  readonly why: string | undefined;
};

export type CountedAgents = {
  readonly all: readonly JudgedAgent[];
  /**
   * The base of every share: without those that never reported where `of` says so, without excluded absent ones, and without
   * followers where the policy wants signed evidence.
   */
  readonly counted: readonly JudgedAgent[];
  readonly absent: readonly JudgedAgent[];
  /** How many of `counted` must comply; at least one where the policy asks for compliance at all. */
  readonly needed: number;
};

/** Applies freshness, absence and the base of counting. A share of nothing is never met: `needed` is at least one. */
export const countAgents = (
  policy: PromotionPolicy,
  agents: readonly AgentFacts[],
  now: Date,
): CountedAgents => {
  const all = agents.map((agent) => judgeAgent(policy, agent, now));
  const { compliance } = policy;
  const reported = baseOf(policy) === 'enrolled' ? all : all.filter(({ knownAt }) => knownAt !== null);
  const present = policy.absent?.then === 'exclude' ? reported.filter(({ absent }) => !absent) : reported;
  const counted = present.filter((agent) => !isUnsigned(policy, agent));
  const share = Math.ceil(((compliance?.percent ?? 0) * counted.length) / 100);
  return {
    all,
    counted,
    absent: all.filter(({ absent }) => absent),
    needed: compliance ? Math.max(share, compliance.atLeast ?? 0, 1) : 0,
  };
};

/** Whom a share counts. With `evidence: signed` all that are enrolled, as the signer counts them. */
export const baseOf = ({ compliance, evidence }: PromotionPolicy): 'reported' | 'enrolled' =>
  evidence === 'signed' ? 'enrolled' : (compliance?.of ?? 'reported');

/**
 * Soak is what the agent itself has shown: from when it began to comply until its newest word. An agent whose report came on a
 * medium has soaked for as long as that report covers, not for the days that the medium travelled.
 */
const judgeAgent = (policy: PromotionPolicy, agent: AgentFacts, now: Date): JudgedAgent => {
  // Each time is parsed once: this is done for each agent of a fleet.
  const heard = Date.parse(agent.knownAt ?? agent.enrolledAt);
  const silent = Math.floor((now.getTime() - heard) / 1000);
  const fresh = agent.knownAt !== null && silent <= (policy.freshnessSeconds ?? Number.POSITIVE_INFINITY);
  const why = isUnsigned(policy, agent)
    ? `its notifications are unsigned: it follows by ${agent.follower}`
    : whyNotCompliant(agent, fresh, now);
  const since =
    why === undefined && agent.state.kind === 'complies' ? Date.parse(agent.state.since) : undefined;
  return {
    ...agent,
    fresh,
    absent: policy.absent !== undefined && silent > policy.absent.afterSeconds,
    complies: why === undefined,
    since,
    soakedSeconds: since === undefined ? 0 : Math.max(0, Math.floor((heard - since) / 1000)),
    why,
  };
};

/** With `evidence: signed` a follower satisfies nothing, and is no part of a share. */
const isUnsigned = ({ evidence }: PromotionPolicy, { follower }: AgentFacts): boolean =>
  evidence === 'signed' && follower !== undefined;

const whyNotCompliant = ({ knownAt, state }: AgentFacts, fresh: boolean, now: Date): string | undefined => {
  if (knownAt === null) return 'it never reported';
  if (state.kind !== 'complies') return `${state.kind}: ${state.why}`;
  return fresh ? undefined : `stale: its newest report describes ${knownAt}, now it is ${formatTime(now)}`;
};
