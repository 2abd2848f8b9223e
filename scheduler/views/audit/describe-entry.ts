import { type Digest, shortDigest } from '#bundles/digest';
import { nameSome } from '#bundles/name-some';
import type { AuditEntry } from '../../load/releases/audit-log.ts';

/** The environment that an entry is about: where to, for promotions and approvals. */
export const environmentOf = (entry: AuditEntry): string =>
  entry.kind === 'decision' ? entry.predicate.environment : entry.predicate.to;

/**
 * '2026-11-21T08:00:00Z  prod  promotion 3 from qa (manual)  sha256:0123456789ab  by ada: release of the week'
 * @param ended the submitted candidate that the entry ended
 */
export const describeEntry = (entry: AuditEntry, ended?: Digest): string => {
  const { at, candidate, predicate } = entry;
  const { person, reason } = predicate;
  const who = `by ${person ?? 'a rule'}${reason === null || reason === '' ? '' : `: ${reason}`}`;
  return [
    at,
    environmentOf(entry).padEnd(12),
    ended === undefined
      ? what(entry)
      : `end of the submission of ${shortDigest(ended)}, built from the newest state again`,
    ...(candidate ? [shortDigest(candidate)] : []),
    who,
  ].join('  ');
};

const what = (entry: AuditEntry): string => {
  switch (entry.kind) {
    case 'promotion':
      return `promotion ${entry.predicate.number} from ${entry.predicate.from} (${entry.predicate.mode})`;
    case 'approval':
      return `approval${ofStage(entry.predicate)}${forWorkspaces(entry.predicate)}`;
    case 'decision': {
      const { decision, only, rollback } = entry.predicate;
      const to = rollback ? ` to release ${rollback.release}` : '';
      return `${decision}${ofStage(entry.predicate)}${only === undefined ? '' : ` of ${only}`}${to}`;
    }
  }
};

const forWorkspaces = ({ workspaces }: { readonly workspaces?: readonly string[] }): string =>
  workspaces ? ` for ${nameSome(workspaces)}` : '';

const ofStage = ({ stage }: { readonly stage?: string }): string =>
  stage === undefined ? '' : ` of stage ${stage}`;
