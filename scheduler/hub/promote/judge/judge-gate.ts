import { compareBytes } from '#bundles/digest';
import { formatTime } from '#bundles/time';
import type { AttestationRule, PromotionPolicy } from '../../../model/promotion.ts';
import { countAgents } from './count-agents.ts';
import { judgeAgents } from './judge-agents.ts';
import { countedApprovals, judgeApprovals } from './judge-approvals.ts';
import { judgeCheck } from './judge-check.ts';
import { judgeFreeze, judgeWindows } from './judge-calendar.ts';
import type { Decisions } from '../facts/decisions.ts';
import type { AttestationFacts, GateFacts } from '../facts/facts.ts';
import { type Condition, type GateState, holdingOf, type Verdict } from './verdict.ts';

/**
 * Judges whether a candidate may be promoted. Pure: `promote --explain`, the API, a simulation and the automatic promotion call
 * this function with their facts and clock, so they cannot disagree. State is derived each time and never stored.
 * @param policy undefined: the link has none, and a person promotes freely what the earlier environment runs
 * @param asks the person who requests the promotion; null: no request, or the policy promotes
 */
export const judgeGate = (
  policy: PromotionPolicy | undefined,
  facts: GateFacts,
  decisions: Decisions,
  { now, asks }: { readonly now: Date; readonly asks: string | null },
): Verdict => {
  const conditions = [
    judgeReleased(facts),
    ...judgeHeld(facts),
    ...(policy ? judgePolicy(policy, facts, decisions, { now, asks }) : []),
  ];
  const approvals = policy ? countedApprovals(policy, decisions, facts, asks) : decisions.approvals;
  return {
    from: facts.from,
    to: facts.to,
    shared: facts.shared,
    ...stateOf(facts, decisions, conditions),
    conditions,
    approvals: approvals.map(({ payload }) => payload).toSorted(compareBytes),
  };
};

const judgePolicy = (
  policy: PromotionPolicy,
  facts: GateFacts,
  decisions: Decisions,
  { now, asks }: { readonly now: Date; readonly asks: string | null },
): readonly Condition[] => [
  ...judgeAgents(policy, facts, countAgents(policy, facts.agents, now), now),
  ...(policy.approvals ? [judgeApprovals(policy, decisions, facts, asks)] : []),
  ...(policy.windows.length > 0 ? [judgeWindows(policy.windows, now)] : []),
  ...(policy.freeze.length > 0 ? [judgeFreeze(policy.freeze, now)] : []),
  ...(policy.attestations ?? []).map((rule, at) => judgeAttestation(rule, facts.attestations?.[at])),
  ...policy.checks.map((check) => judgeCheck(check, facts.checks.get(check.name), now)),
];

/** Decisions outrank conditions, and a rejection outranks a pause. */
const stateOf = (
  { channels }: GateFacts,
  { rejected, paused, promoted }: Decisions,
  conditions: readonly Condition[],
): { readonly state: GateState; readonly note: string | null } => {
  if (rejected !== undefined) return { state: 'rejected', note: rejected };
  if (promoted === 'now') return { state: 'promoted', note: null };
  if (channels.every(({ since }) => since === null))
    return { state: channels.length > 0 ? 'superseded' : 'waiting', note: null };
  if (paused !== undefined) return { state: 'paused', note: paused };
  return { state: conditions.every(({ met }) => met) ? 'ready' : 'waiting', note: null };
};

/**
 * Whether the earlier environment runs the candidate: each channel that an agent follows, and at least one. Health that was
 * reported before that is of another candidate.
 */
const judgeReleased = ({ from, channels }: GateFacts): Condition => {
  const released = channels.filter(({ since }) => since !== null);
  const others = channels.filter(({ since }) => since === null);
  const met = released.length > 0 && others.length === 0;
  return {
    name: 'released',
    wanted: `every channel of ${from} is at a release of this candidate`,
    found: `${released.length} of ${channels.length}`,
    progress: { found: released.length, wanted: channels.length },
    met,
    holding: holdingOf(others.map(({ channel, now }) => `${channel}: ${now}`)),
    earliest: null,
    changedBy: met ? [] : ['release'],
  };
};

/**
 * An assignment that the earlier environment holds was never tried there, and the next one may build it. Without one there is
 * no condition.
 */
const judgeHeld = ({ from, held = [] }: GateFacts): readonly Condition[] =>
  held.length === 0
    ? []
    : [
        {
          name: 'held',
          wanted: `none: what is held in ${from} was never tried there`,
          found: String(held.length),
          met: false,
          holding: holdingOf(held),
          earliest: null,
          changedBy: ['release'],
        },
      ];

/** The earliest time at which the clock alone opens the gate; undefined if it is open, or news is needed first. */
export const earliestOpening = ({ conditions }: Verdict): string | undefined => {
  const open = conditions.filter(({ met }) => !met);
  if (open.length === 0 || open.some(({ earliest }) => earliest === null)) return undefined;
  const times = open.map(({ earliest }) => new Date(earliest ?? 0).getTime());
  return formatTime(new Date(Math.max(...times)));
};

/** Every image of the candidate that the rule covers carries the attestation. Without such an image there is nothing to attest. */
const judgeAttestation = (
  { type }: AttestationRule,
  { images, missing }: Omit<AttestationFacts, 'type'> = { images: 0, missing: ['the bundles were not read'] },
): Condition => {
  const met = missing.length === 0;
  const attested = Math.max(0, images - missing.length);
  return {
    name: `attestation ${type}`,
    wanted: 'of every image, by a signer of the policy',
    found: images === 0 && met ? 'no image' : `${attested} of ${images}`,
    progress: { found: attested, wanted: images },
    met,
    holding: holdingOf(missing),
    earliest: null,
    changedBy: met ? [] : ['release'],
  };
};
