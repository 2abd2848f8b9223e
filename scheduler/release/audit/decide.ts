import type { DecisionKind, DecisionPredicate } from '#bundles/formats/statements/predicates';
import { FleetError } from '#bundles/errors';
import { formatTime } from '#bundles/time';
import { appendEntry } from './append-entry.ts';
import { signDecision } from './sign-decision.ts';
import type { Releases } from '../publish/open-releases.ts';
import type { KeyDirectory } from '../../keys/key-directory.ts';
import type { Lineage } from '../../load/releases/read-lineage.ts';

const MAX_REASON = 1000;

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
  if (reason.trim() === '' || reason.length > MAX_REASON)
    throw new FleetError('USAGE', `a reason has 1 to ${MAX_REASON} characters`);
  const predicate: DecisionPredicate = {
    fleet: keys.root.fleet,
    decision,
    environment,
    ...(only !== undefined && { only }),
    ...(candidate && { shared: candidate.shared }),
    ...(rollback && { rollback }),
    person,
    reason,
    time: formatTime(now),
    critical: [],
  };
  const statement = await signDecision(candidate?.candidate, predicate, await keys.key('audit'));
  await appendEntry(releases, keys, { kind: 'decision', statement }, now);
};
