import { defined } from '#bundles/defined';
import type { DecisionKind, DecisionPredicate } from '#bundles/formats/statements/predicates';
import { FleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import { appendEntry } from './append-entry.ts';
import type { Releases } from '../write/open-releases.ts';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import type { Lineage } from '../../load/releases/read-lineage.ts';
import { type Digest, digestOf } from '#bundles/digest';
import type { SigningKey } from '#bundles/trust/keys/key';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { statementPayload } from '#bundles/trust/statements/statement-payload';

/** Longest reason, in UTF-16 units, that a statement or a revocation list may carry. */
export const MAX_REASON = 1000;

/** The reason that a person gave, unchanged. @throws FleetError USAGE if it is blank or too long */
export const checkReason = (reason: string): string => {
  if (reason.trim() !== '' && reason.length <= MAX_REASON) return reason;
  throw new FleetError('USAGE', `a reason has 1 to ${MAX_REASON} characters`);
};

export type Decision = {
  readonly decision: DecisionKind;
  readonly environment: string;
  /** Channel or assignment that the decision is limited to; undefined: the whole environment. */
  readonly only?: string;
  /** undefined: it is about the environment. */
  readonly candidate?: Lineage;
  /** With `roll-back` of a channel or an assignment. */
  readonly rollback?: DecisionPredicate['rollback'];
  readonly person: string;
  readonly reason: string;
  readonly now: Date;
};

/**
 * Signs a person's decision and appends it to the audit log; durable when this returns.
 * @throws FleetError USAGE for a reason that is empty or too long; the codes of appendEntry
 */
export const decide = async (
  releases: Releases,
  keys: KeyDirectory,
  { decision, environment, only, candidate, rollback, person, reason, now }: Decision,
): Promise<void> => {
  const predicate: DecisionPredicate = defined({
    fleet: keys.root.fleet,
    decision,
    environment,
    only,
    shared: candidate?.shared,
    rollback,
    person,
    reason: checkReason(reason),
    time: formatTime(now),
    critical: [],
  });
  const statement = await signDecision(candidate?.candidate, predicate, await keys.key('audit'));
  await appendEntry(releases, keys, { kind: 'decision', statement }, now);
};

/**
 * Signs a decision about a candidate or an environment.
 * @param candidate undefined: the decision is about the environment
 * @param key the audit key
 * @returns the bytes of a sigstore bundle
 */
export const signDecision = (
  candidate: Digest | undefined,
  predicate: DecisionPredicate,
  key: SigningKey,
): Promise<Buffer> => {
  const subject =
    candidate === undefined
      ? { name: 'environment', digest: digestOf(predicate.environment) }
      : { name: 'candidate', digest: candidate };
  return signPayload(statementPayload([subject], 'decision', predicate), key);
};
