import { defined } from '#bundles/defined';
import { reachesEveryone } from '#bundles/trust/accept/is-selected';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { findBlob } from '#bundles/formats/layout/verified';
import type { DecisionKind, Rollout } from '#bundles/formats/statements/predicates';
import { type Channel, formatChannel } from '#bundles/names';
import { formatTime } from '#bundles/time';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import { type AuditLog, readAuditLog } from '../../load/releases/audit-log.ts';
import { bundlesOf, type StoredRelease } from '../../load/releases/read-release.ts';
import type { RolloutPolicy } from '../../model/promotion.ts';
import { appendEntry } from '../audit/append-entry.ts';
import { MAX_REASON, signDecision } from '../audit/decide.ts';
import type { Releases } from '../write/open-releases.ts';
import { MAX_PLAN_BYTES, parsePlan, readPlan, type StoredPlan, storePlan } from './plan-document.ts';
import { EVERYONE, planRollout } from './plan-rollout.ts';
import { progressOf } from './rollout-progress.ts';

/** The agents that the next release of a channel reaches first. */
export type FirstStage = {
  readonly rollout: Rollout;
  /** Undefined: the channel has no stages. */
  readonly plan: StoredPlan | undefined;
  /** false: the bundles stay the same, and so does the stage. */
  readonly isNew: boolean;
};

/** A rollout that ended because a newer bundle was released before it was complete. */
export type Superseded = { readonly stage: string; readonly version: number };

type Next = {
  readonly channel: Channel;
  readonly candidate: Digest;
  readonly bundles: readonly Digest[];
  readonly previous: StoredRelease | undefined;
  /** Number of the newest release, 0 without one; it may be newer than `previous`, which agents can read. */
  readonly follows: number;
};

/**
 * Determines how a release begins: with the first stage of the policy, with all agents without a policy, and with the stage of
 * the earlier release if it names the same bundles. Supersedes a rollout in progress; the target of a take-back stays the same.
 */
export const beginRelease = async (
  layout: Layout,
  policy: RolloutPolicy | undefined,
  next: Next,
): Promise<FirstStage> => {
  const { channel, candidate, bundles, previous, follows } = next;
  const before = previous && (await readPlan(layout, previous));
  if (previous && namesSameBundles(bundles, previous))
    return { rollout: previous.predicate.rollout, plan: before, isNew: false };
  if (!policy) return { rollout: EVERYONE, plan: undefined, isNew: true };
  const plan = planRollout(policy, {
    channel,
    candidate,
    bundles,
    follows,
    before: baselineOf(previous, before),
  });
  return { rollout: plan.stages[0]?.rollout ?? EVERYONE, plan: storePlan(plan), isNew: true };
};

const namesSameBundles = (bundles: readonly Digest[], release: StoredRelease): boolean => {
  const named = new Set(bundlesOf(release));
  return named.size === bundles.length && bundles.every((digest) => named.has(digest));
};

const baselineOf = (previous: StoredRelease | undefined, plan: StoredPlan | undefined) => {
  if (!previous) return null;
  if (plan && !reachesEveryone(previous.predicate.rollout)) return plan.plan.before;
  return { version: previous.predicate.version, release: previous.digest };
};

/** The rollout that a new one ends; undefined if the release before reached everyone. */
export const supersededBy = async (
  layout: Layout,
  previous: StoredRelease | undefined,
): Promise<Superseded | undefined> => {
  if (!previous || reachesEveryone(previous.predicate.rollout)) return undefined;
  const wanted = JSON.stringify(previous.predicate.rollout);
  const found = await readPlan(layout, previous);
  const stage = found?.plan.stages.find(({ rollout }) => JSON.stringify(rollout) === wanted)?.name;
  return { stage: stage ?? '', version: previous.predicate.version };
};

export type RolloutDecision = {
  readonly decision: DecisionKind;
  readonly stage?: string;
  /** null: decided by a rule. */
  readonly person: string | null;
  readonly reason: string;
};

/** Signs a decision about a rollout and appends it to the audit log; durable when this returns. @throws FleetError of appendEntry */
export const decideRollout = async (
  releases: Releases,
  keys: KeyDirectory,
  { plan, digest }: StoredPlan,
  { reason, ...decision }: RolloutDecision,
  now: Date,
): Promise<void> => {
  const statement = await signDecision(
    plan.candidate,
    {
      fleet: keys.root.fleet,
      ...decision,
      environment: plan.environment,
      only: formatChannel(plan),
      plan: digest,
      reason: reason.slice(0, MAX_REASON),
      time: formatTime(now),
      critical: [],
    },
    await keys.key('audit'),
  );
  await appendEntry(releases, keys, { kind: 'decision', statement }, now);
};

/** Writes the decision that starts a rollout, unless the log has it: a build that was killed after it repeats the call. */
export const startRollout = async (
  releases: Releases,
  keys: KeyDirectory,
  stored: StoredPlan,
  now: Date,
): Promise<void> => {
  const { entries } = await readAuditLog(await releases.open(), keys.roots);
  const { plan, digest } = stored;
  if (progressOf(plan, digest, entries).started.length > 0) return;
  const [first] = plan.stages;
  const reason = `policy ${plan.policy}`;
  const decision = { decision: 'start-rollout', person: null, reason } as const;
  await decideRollout(releases, keys, stored, { ...decision, ...defined({ stage: first?.name }) }, now);
};

/**
 * ROLLOUT_TAKEN_BACK if the newest rollout of these bundles was taken back and not resumed, so that the next build does not
 * start it again; otherwise undefined.
 */
export const findTakenBack = async (
  layout: Layout,
  { entries }: AuditLog,
  { channel, bundles }: Pick<Next, 'channel' | 'bundles'>,
): Promise<FleetError | undefined> => {
  const name = formatChannel(channel);
  const last = entries.findLast(
    (entry) =>
      entry.kind === 'decision' &&
      entry.predicate.only === name &&
      ['start-rollout', 'take-back', 'resume'].includes(entry.predicate.decision),
  );
  if (last?.kind !== 'decision' || last.predicate.decision !== 'take-back') return undefined;
  const { plan, reason } = last.predicate;
  const bytes = plan && (await findBlob(layout.blobs, plan, { maxBytes: MAX_PLAN_BYTES }));
  if (!bytes) return undefined;
  const taken = parsePlan(bytes).plan.bundles;
  const namesSameBundles =
    taken.length === bundles.length && bundles.every((digest) => taken.includes(digest));
  if (!namesSameBundles) return undefined;
  return new FleetError('ROLLOUT_TAKEN_BACK', `the rollout of this bundle was taken back: ${reason}`, {
    subject: name,
    hint: 'Change the sources',
  });
};
