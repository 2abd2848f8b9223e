import { defined } from '#bundles/defined';
import { compareBytes, type Digest, shortDigest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { APPROVAL_WORKSPACES, type ApprovalPredicate } from '#bundles/formats/statements/predicates';
import type { Json } from '#bundles/json/canonical';
import { formatTime } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/keys/key';
import { readCandidate } from '../../../assemble/candidate/read-candidate.ts';
import { sharedDigest } from '../../../assemble/candidate/shared-digest.ts';
import { verifyEntry } from '../../../load/releases/audit-log.ts';
import type { Lineage } from '../../../load/releases/read-lineage.ts';
import { appendEntry } from '../../../release/audit/append-entry.ts';
import { openReleases } from '../../../release/write/open-releases.ts';
import { readDecided } from '../gate/assess.ts';
import { checkEnvironment, linkTo } from '../facts/link.ts';
import { stageToApprove } from './stage-to-approve.ts';
import { type Chain, LOCK_WAIT_MS, type DecisionRequest } from './chain.ts';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { statementPayload } from '#bundles/trust/statements/statement-payload';

export type ApproveRequest = DecisionRequest & {
  /** undefined: the newest candidate that the environment before has released. */
  readonly candidate: Digest | undefined;
  /** Only this stage of the environment's rollout; undefined: the promotion. */
  readonly stage: string | undefined;
  /** It approves only what changes in these workspaces; undefined: everything. */
  readonly workspaces?: readonly string[] | undefined;
  readonly reason: string;
};

export type Approved = Lineage & {
  /** `known`: the log had this approval. */
  readonly outcome: 'appended' | 'known';
  readonly to: string;
  readonly person: string;
  readonly stage: string | undefined;
  readonly workspaces: readonly string[] | undefined;
};

/**
 * Signs a person's approval of a promotion, or of a stage of a rollout, with their own key and appends it to the audit log.
 * @throws FleetError USAGE if nothing is promoted to the environment; the codes of stageToApprove; UNKNOWN_KEY; BUSY; the codes of readDecided and appendEntry
 */
export const approveFor = async (
  { hub, promotion }: Chain,
  request: ApproveRequest,
  key: SigningKey,
): Promise<Approved> => {
  const { environment, now, person, stage, workspaces } = request;
  checkEnvironment(promotion, environment);
  using releases = await openReleases(hub.layout, { command: 'approve', now, waitMs: LOCK_WAIT_MS });
  const candidate = await candidateFor({ hub, promotion }, request);
  const predicate = predicateOf(hub.keys.root.fleet, candidate, request);
  const statement = await signApproval(candidate.candidate, predicate, key);
  const { outcome } = await appendEntry(releases, hub.keys, { kind: 'approval', statement }, now);
  return { outcome, to: environment, ...candidate, person, stage, workspaces };
};

/** Of the environment before for a promotion, of the environment itself for a stage of its rollout. */
const candidateFor = async ({ hub, promotion }: Chain, request: ApproveRequest): Promise<Lineage> => {
  const { environment, stage, workspaces } = request;
  if (stage !== undefined && workspaces !== undefined) throw stageIsWhole(environment);
  if (stage !== undefined) return stageToApprove(hub, { ...request, stage });
  const { candidate } = await readDecided(hub, linkTo(promotion, environment), request);
  return candidate;
};

const stageIsWhole = (environment: string): FleetError =>
  new FleetError('USAGE', 'a stage of a rollout is approved as a whole, not for workspaces', {
    subject: environment,
    hint: 'Approve the promotion for workspaces, or the stage without them',
  });

/**
 * The statement of an approval, to be signed outside of this program.
 * @returns the exact bytes to sign
 * @throws FleetError USAGE if nothing is promoted to the environment; the codes of readDecided
 */
export const draftApproval = async ({ hub, promotion }: Chain, request: ApproveRequest): Promise<Buffer> => {
  checkEnvironment(promotion, request.environment);
  const candidate = await candidateFor({ hub, promotion }, request);
  return approvalStatement(candidate.candidate, predicateOf(hub.keys.root.fleet, candidate, request));
};

/** Refuses an approval that the caller may not hand over. The signature was verified. */
export type CheckApproval = (approval: Pick<Approved, 'candidate' | 'stage' | 'workspaces'>) => Promise<void>;

/**
 * Appends an approval that was signed outside of this program. The signature identifies the approver, so any caller may submit
 * it that `check` does not refuse.
 * @param statement a sigstore bundle
 * @throws FleetError USAGE if nothing is promoted to the environment, or for a stage with workspaces; UNKNOWN_KEY, BAD_SIGNATURE, BUNDLE_FORMAT, WRONG_FLEET
 *   for the signature; WRONG_ENVIRONMENT for another environment's; SUBJECT_MISMATCH if candidate and shared digest do not belong
 *   together; MISSING_BLOB for an unknown candidate; BUSY; the codes of appendEntry
 */
export const appendApproval = async (
  { hub, promotion }: Chain,
  statement: { readonly [key: string]: Json },
  { environment, now, signal }: Omit<DecisionRequest, 'person'>,
  check: CheckApproval = async () => {},
): Promise<Approved> => {
  const to = environment;
  checkEnvironment(promotion, to);
  const line = { number: 1, previous: null, at: formatTime(now), kind: 'approval', statement } as const;
  const entry = verifyEntry({ ...line, digest: NO_DIGEST }, hub.keys.roots);
  if (entry.kind !== 'approval' || entry.candidate === undefined)
    throw new FleetError('SCHEMA', 'the approval names no candidate');
  const { candidate, predicate } = entry;
  const { shared, person, stage, workspaces } = predicate;
  if (stage !== undefined && workspaces !== undefined) throw stageIsWhole(to);
  if (workspaces && !predicate.critical.includes(APPROVAL_WORKSPACES))
    throw new FleetError('SCHEMA', `an approval for workspaces names ${APPROVAL_WORKSPACES} in critical`, {
      hint: 'Sign the statement that the hub drafts',
    });
  if (predicate.to !== to) {
    throw new FleetError('WRONG_ENVIRONMENT', `this approval is for ${predicate.to}, not for ${to}`, {
      hint: `Hand it over to the path of ${predicate.to}`,
    });
  }
  using releases = await openReleases(hub.layout, { command: 'approve', now, waitMs: LOCK_WAIT_MS });
  const layout = await openOrStartLayout(hub.layout);
  const { document } = await readCandidate(candidate, [layout.blobs], signal);
  if (stage !== undefined) await stageToApprove(hub, { environment, stage, candidate, now, signal });
  const from = stage === undefined ? linkTo(promotion, to).from : to;
  if (document.environment !== from || sharedDigest(document) !== shared) {
    throw new FleetError(
      'SUBJECT_MISMATCH',
      `the approval names candidate ${shortDigest(candidate)} with a shared digest or an environment that it does not have`,
      { subject: candidate, hint: 'Sign the statement that the hub drafts' },
    );
  }
  await check({ candidate, stage, workspaces });
  const bytes = Buffer.from(JSON.stringify(statement));
  const { outcome } = await appendEntry(releases, hub.keys, { kind: 'approval', statement: bytes }, now);
  return { outcome, to, candidate, shared, person, stage, workspaces };
};

/** The digest of a line that is not in the log. */
export const NO_DIGEST: Digest = `sha256:${'0'.repeat(64)}`;

const predicateOf = (
  fleet: string,
  { shared }: Lineage,
  { environment: to, stage, workspaces, person, reason, now }: ApproveRequest,
): ApprovalPredicate =>
  defined({
    fleet,
    to,
    shared,
    stage,
    workspaces: workspaces ? [...new Set(workspaces)].toSorted(compareBytes) : undefined,
    person,
    reason,
    time: formatTime(now),
    critical: workspaces ? [APPROVAL_WORKSPACES] : [],
  });

/** The statement that one person approves a promotion, or a stage of a rollout: the exact bytes to sign. */
export const approvalStatement = (candidate: Digest, predicate: ApprovalPredicate): Buffer =>
  statementPayload([{ name: 'candidate', digest: candidate }], 'approval', predicate);

/**
 * Signs one person's approval of a promotion, or of a stage of a rollout.
 * @param key the person's own key, one of the root's bundle role
 * @returns the bytes of a sigstore bundle
 */
export const signApproval = (
  candidate: Digest,
  predicate: ApprovalPredicate,
  key: SigningKey,
): Promise<Buffer> => signPayload(approvalStatement(candidate, predicate), key);
