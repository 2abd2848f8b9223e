import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { type Channel, formatChannel } from '#bundles/names';
import type { Timestamp } from '#bundles/time';
import type { AuditEntry, PartOf } from './audit-log.ts';

/** One assignment that a person took back to the package of an earlier release. */
export type AssignmentRollback = Channel & {
  readonly assignment: string;
  /** Release whose package is used. */
  readonly release: number;
  /** The bundle of that release, and its package. */
  readonly bundle: Digest;
  readonly package: Digest;
  /** The package that it replaces. */
  readonly instead: Digest;
  /** It ends with the next promotion to the environment; otherwise once the assignment is built as another package than `instead`. */
  readonly untilPromoted: boolean;
  readonly person: string;
  readonly reason: string;
  readonly at: Timestamp;
};

/** 'prod/press/label-printer': how a decision names an assignment. */
export const formatAssignment = (channel: Channel, assignment: string): string =>
  `${formatChannel(channel)}/${assignment}`;

type Entry = PartOf<AuditEntry, 'kind' | 'at' | 'predicate'>;

/**
 * Folds the audit log into the rollbacks of single assignments that are in force in an environment, in the order of the log: the
 * newest decision about an assignment counts, and a promotion to the environment ends those before it.
 */
export const rollbacksIn = (
  entries: readonly Entry[],
  environment: string,
): readonly AssignmentRollback[] => {
  const found = new Map<string, AssignmentRollback>();
  let isChained = false;
  for (const { kind, at, predicate } of entries) {
    if (kind === 'promotion' && predicate.to === environment) {
      isChained = true;
      found.clear();
    }
    if (kind !== 'decision' || predicate.environment !== environment || predicate.only === undefined)
      continue;
    const { decision, only, rollback, person, reason } = predicate;
    if (decision === 'resume') found.delete(only);
    if (decision !== 'roll-back' || !rollback?.taken) continue;
    const [, clusterType = '', assignment = ''] = only.split('/');
    found.set(only, {
      ...rollback.taken,
      release: rollback.release,
      environment,
      clusterType,
      assignment,
      untilPromoted: isChained,
      person: person ?? 'a rule',
      reason,
      at,
    });
  }
  return [...found.values()];
};

/**
 * ROLLED_BACK if a person rolled the channel back from this bundle and has not ended the rollback; otherwise undefined. A
 * different bundle is released.
 */
export const findRolledBack = (
  entries: readonly Entry[],
  channel: Channel,
  bundle: Digest,
): FleetError | undefined => {
  const name = formatChannel(channel);
  const last = entries.findLast(
    ({ kind, predicate }) =>
      kind === 'decision' &&
      predicate.only === name &&
      predicate.plan === undefined &&
      (predicate.decision === 'roll-back' || predicate.decision === 'resume'),
  );
  if (last?.kind !== 'decision' || last.predicate.decision !== 'roll-back') return undefined;
  const { rollback, person, reason } = last.predicate;
  if (!rollback?.instead?.includes(bundle)) return undefined;
  return new FleetError(
    'ROLLED_BACK',
    `the channel was rolled back from this bundle to release ${rollback.release} by ${person ?? 'a rule'} at ${last.at}: ${reason}`,
    {
      subject: name,
      hint: `Change the sources, or end it with: fleet-scheduler releases rollback --channel ${name} --resume --reason ...`,
    },
  );
};

/** Why the assignment is not released as it is built. */
export const rolledBackError = ({
  assignment,
  release,
  person,
  at,
  reason,
  ...channel
}: Pick<
  AssignmentRollback,
  'environment' | 'clusterType' | 'assignment' | 'release' | 'person' | 'at' | 'reason'
>): FleetError =>
  new FleetError(
    'ROLLED_BACK',
    `${assignment} was rolled back to release ${release} by ${person} at ${at}: ${reason}`,
    {
      subject: assignment,
      hint: `End it with: fleet-scheduler releases rollback --channel ${formatChannel(channel)} --assignment ${assignment} --resume --reason ...`,
    },
  );
