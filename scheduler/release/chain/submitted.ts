import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Layout } from '#bundles/formats/layout/layout';
import { type GivenCandidate, isOwn } from '../../assemble/candidate/given-candidate.ts';
import { readCandidate } from '../../assemble/candidate/read-candidate.ts';
import type { AuditLog } from '../../load/releases/audit-log.ts';

/** The candidate that was submitted to an environment last; undefined if none was, or if that was ended. */
export const submittedTo = (
  { entries }: Pick<AuditLog, 'entries'>,
  environment: string,
): Digest | undefined => {
  const last = entries.findLast(
    (entry) =>
      entry.kind === 'decision' &&
      entry.predicate.decision === 'submit' &&
      entry.predicate.environment === environment,
  );
  return last?.kind === 'decision' ? last.candidate : undefined;
};

/** The submitted candidates that decisions ended without another one, by the number of the entry that ended them. */
export const endedSubmissions = (entries: AuditLog['entries']): ReadonlyMap<number, Digest> => {
  const last = new Map<string, Digest>();
  const ended = new Map<number, Digest>();
  for (const entry of entries) {
    if (entry.kind !== 'decision' || entry.predicate.decision !== 'submit') continue;
    const { environment } = entry.predicate;
    const before = last.get(environment);
    if (entry.candidate !== undefined) last.set(environment, entry.candidate);
    else if (before !== undefined) {
      ended.set(entry.number, before);
      last.delete(environment);
    }
  }
  return ended;
};

/** @throws FleetError CANDIDATE_MISMATCH if it was made for another environment; MISSING_BLOB, DIGEST_MISMATCH */
export const readSubmitted = async (
  layout: Layout | undefined,
  log: Pick<AuditLog, 'entries'>,
  environment: string,
  signal: AbortSignal,
): Promise<GivenCandidate | undefined> => {
  const digest = submittedTo(log, environment);
  if (digest === undefined) return undefined;
  const candidate = await readCandidate(digest, layout ? [layout.blobs] : [], signal);
  if (isOwn(candidate, environment)) return candidate;
  throw new FleetError(
    'CANDIDATE_MISMATCH',
    `the candidate that was submitted to ${environment} was made for another environment`,
    {
      subject: environment,
      hint: 'Submit a candidate that was made for this environment',
    },
  );
};
