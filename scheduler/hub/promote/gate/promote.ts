import { type Digest, digestOf } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import { canonicalBytes } from '#bundles/json/canonical';
import { nameSome } from '#bundles/name-some';
import { formatTime } from '#bundles/time';
import { promotedTo } from '../../../load/releases/audit-log.ts';
import { appendEntry } from '../../../release/audit/append-entry.ts';
import { policyDigest } from '../../../release/chain/policy-digest.ts';
import { signNewer } from '../../../release/sign/sign-newer.ts';
import type { Releases } from '../../../release/write/open-releases.ts';
import type { KeyDirectory } from '../../../keys/key-directory.ts';
import type { Assessment } from './assess.ts';
import { writeSummaries } from './write-summaries.ts';
import { whyNotMet } from './describe-verdict.ts';
import { whyNotApprovable } from '../judge/judge-approvals.ts';
import { earliestOpening } from '../judge/judge-gate.ts';
import type { PromotionPredicate } from '#bundles/formats/statements/predicates';
import type { SigningKey } from '#bundles/trust/keys/key';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { statementPayload } from '#bundles/trust/statements/statement-payload';

export type PromotionRequest = {
  readonly mode: 'manual' | 'automatic';
  /** null: the policy. */
  readonly person: string | null;
  readonly reason: string | null;
  readonly now: Date;
};

/** Number of the promotion, and whether it was made now. */
export type PromotionResult = { readonly outcome: 'promoted' | 'known'; readonly number: number };

/**
 * Signs the promotion of a candidate whose gate is open and appends it to the audit log. It is durable when this returns; the
 * next build uses it. Promoting the promoted candidate again changes nothing.
 * @param releases holds the lock of the layout from before the assessment, so that no other decision came between
 * @throws FleetError GATE_CLOSED with each open condition; FIELD_INVALID for a number of approvals that the root's keys cannot
 *   give; the codes of appendEntry; refusals of a remote signer
 */
export const promote = async (
  releases: Releases,
  keys: KeyDirectory,
  assessment: Assessment,
  request: PromotionRequest,
): Promise<PromotionResult> => {
  const { link, candidate, verdict, log } = assessment;
  const before = promotedTo(log, link.to);
  if (verdict.state === 'promoted') return { outcome: 'known', number: before?.number ?? 0 };
  if (verdict.state !== 'ready')
    throw whyNotApprovable(link.policy, assessment.keys) ?? gateClosed(assessment);
  const leftOut = await assessment.show();
  const grounds = {
    policy: link.policy ? policyDigest(link.policy) : null,
    verdict: digestOf(canonicalBytes(verdict)),
    approvals: verdict.approvals,
  };
  return sign(releases, keys, { link, candidate, log }, request, grounds).catch((error: unknown) => {
    throw isFleetError(error, 'NOT_PROMOTED') ? withLeftOut(error, leftOut) : error;
  });
};

/** A refusal of the signer may be due to reports that it was not shown. */
const withLeftOut = (error: FleetError, leftOut: readonly string[]): FleetError => {
  if (leftOut.length === 0) return error;
  const { code, message, subject, hint } = error;
  const more = `The hub does not have all events of these reports as they were signed, so the signer was not shown them: ${nameSome(leftOut)}`;
  return new FleetError(code, message, {
    subject,
    hint: [hint, more].filter(Boolean).join('. '),
    cause: error,
  });
};

/**
 * Signs a promotion without asking the gate: only for a candidate that the audit log has as promoted before.
 * @throws FleetError as promote, without GATE_CLOSED
 */
export const promoteAgain = (
  releases: Releases,
  keys: KeyDirectory,
  what: Pick<Assessment, 'link' | 'candidate' | 'log'>,
  request: PromotionRequest,
): Promise<PromotionResult> =>
  sign(releases, keys, what, request, { policy: null, verdict: null, approvals: [] });

type Grounds = {
  readonly policy: ReturnType<typeof digestOf> | null;
  readonly verdict: ReturnType<typeof digestOf> | null;
  readonly approvals: Assessment['verdict']['approvals'];
};

const sign = async (
  releases: Releases,
  keys: KeyDirectory,
  {
    link: { from, to },
    candidate: { candidate, shared },
    log,
  }: Pick<Assessment, 'link' | 'candidate' | 'log'>,
  { mode, person, reason, now }: PromotionRequest,
  grounds: Grounds,
): Promise<PromotionResult> => {
  const before = promotedTo(log, to);
  // Opened before the release key signs: a remote signer remembers what it signed.
  await keys.key('audit');
  const key = await keys.key('release');
  const common = { fleet: keys.root.fleet, from, to, shared, mode, person, reason, ...grounds };
  // A remote signer remembers a number that it signed for a program which was stopped before it stored the promotion.
  const { number, statement } = await signNewer((before?.number ?? 0) + 1, async (next) => ({
    number: next,
    statement: await signPromotion(
      candidate,
      { ...common, number: next, previous: before?.payload ?? null, time: formatTime(now), critical: [] },
      key,
    ),
  }));
  // Before the entry: a promotion in the log has its summaries, whenever this program is stopped.
  await writeSummaries(releases, keys, statement, key);
  await appendEntry(releases, keys, { kind: 'promotion', statement }, now);
  return { outcome: 'promoted', number };
};

/** Conditions that a refusal names. `promote --explain` and the API have all. */
const SHOWN = 3;

const gateClosed = ({ link: { from, to }, candidate, verdict }: Assessment): FleetError => {
  const open = verdict.conditions.filter(({ met }) => !met);
  const earliest = earliestOpening(verdict);
  const more = open.length - SHOWN;
  const shown = open.slice(0, SHOWN).map(whyNotMet).join('; ');
  const why = verdict.note ?? (more > 0 ? `${shown}; and ${more} more` : shown);
  return new FleetError(
    'GATE_CLOSED',
    `the gate from ${from} to ${to} is closed (${verdict.state}): ${why || 'another candidate replaced it'}`,
    {
      subject: candidate.candidate,
      hint: `See each condition with: fleet-scheduler promote ${to} --explain${earliest === undefined ? '' : `; it opens at ${earliest} at the earliest`}`,
    },
  );
};

/**
 * Signs that a candidate may be built in an environment from now on.
 * @param candidate digest of the candidate of the environment before
 * @param key the release key
 * @returns the bytes of a sigstore bundle
 */
const signPromotion = (candidate: Digest, predicate: PromotionPredicate, key: SigningKey): Promise<Buffer> =>
  signPayload(statementPayload([{ name: 'candidate', digest: candidate }], 'promotion', predicate), key);
