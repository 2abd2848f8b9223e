import { isDeepStrictEqual } from 'node:util';
import { type Digest, shortDigest } from '#bundles/digest';
import type { ChangePredicate } from '#bundles/formats/statements/predicates';
import type { Json } from '#bundles/json/canonical';
import { nameSome } from '#bundles/name-some';
import type { AuditEntry } from '../../load/releases/audit-log.ts';

/** The environment that an entry is about: where to, for promotions and approvals; undefined for a change. */
export const environmentOf = (entry: AuditEntry): string | undefined => {
  switch (entry.kind) {
    case 'promotion':
      return entry.predicate.to;
    case 'approval':
      return entry.predicate.about === undefined ? entry.predicate.to : undefined;
    case 'decision':
      return entry.predicate.environment;
    case 'change':
      return undefined;
  }
};

/**
 * ['2026-11-21T08:00:00Z', 'prod', 'promotion 3 from qa (manual)  sha256:0123456789ab  by ada: release of the week']: who did it follows what
 * it was, whose length differs too much for a column.
 * @param ended the submitted candidate that the entry ended
 */
export const describeEntry = (entry: AuditEntry, ended?: Digest): readonly string[] => {
  const { at, candidate, predicate } = entry;
  const { person, reason } = predicate;
  const who = `by ${person ?? 'a rule'}${reason === null || reason === '' ? '' : `: ${reason}`}`;
  const happened =
    ended === undefined
      ? describeSubject(entry)
      : `end of the submission of ${shortDigest(ended)}, built from the newest state again`;
  return [
    at,
    environmentOf(entry) ?? '-',
    [happened, ...(candidate ? [shortDigest(candidate)] : []), who].join('  '),
  ];
};

const describeSubject = (entry: AuditEntry): string => {
  switch (entry.kind) {
    case 'promotion':
      return `promotion ${entry.predicate.number} from ${entry.predicate.from} (${entry.predicate.mode})`;
    case 'approval':
      if (entry.predicate.about === 'site-values') return `approval of values of ${entry.predicate.to}`;
      return `approval${ofStage(entry.predicate)}${forWorkspaces(entry.predicate)}`;
    case 'decision': {
      const { decision, only, rollback } = entry.predicate;
      const to = rollback ? ` to release ${rollback.release}` : '';
      return `${decision}${ofStage(entry.predicate)}${only === undefined ? '' : ` of ${only}`}${to}`;
    }
    case 'change':
      return describeChange(entry.predicate);
  }
};

/** 'sites set plant-7 (port: 8080 -> 8081)', 'sites revoke plant-7/press-1 (was channel: prod/line, ...)' */
export const describeChange = (change: Pick<ChangePredicate, 'change' | 'about' | 'old' | 'new'>): string => {
  const names = new Set([...Object.keys(change.old ?? {}), ...Object.keys(change.new ?? {})]);
  const differing = [...names].flatMap((name) => {
    const values = [change.old?.[name], change.new?.[name]];
    if (isDeepStrictEqual(values[0], values[1])) return [];
    const [before, after] = values.map(shortValue);
    if (change.old === null) return [`${name}: ${after}`];
    return [change.new === null ? `${name}: ${before}` : `${name}: ${before} -> ${after}`];
  });
  const was = change.new === null ? 'was ' : '';
  const difference = differing.length === 0 ? '' : ` (${was}${nameSome(differing)})`;
  return `${change.change} ${change.about}${difference}`;
};

/** Longest value in one line, in UTF-16 units. `--json` has all of it. */
const MAX_VALUE = 80;

const shortValue = (value: Json | undefined): string => {
  if (value === undefined) return 'none';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE)}...`;
};

const forWorkspaces = ({ workspaces }: { readonly workspaces?: readonly string[] }): string =>
  workspaces ? ` for ${nameSome(workspaces)}` : '';

const ofStage = ({ stage }: { readonly stage?: string }): string =>
  stage === undefined ? '' : ` of stage ${stage}`;
