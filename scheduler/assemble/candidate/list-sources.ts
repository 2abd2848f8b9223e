import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { CandidateSource } from '#bundles/formats/statements/predicates';
import { parseDocument } from '#bundles/json/validate';
import type { DeploymentTarget, SourceSnapshot } from '../../model/model.ts';
import { toCandidateSource, uniqueSources } from './create-candidate.ts';

export type ListedSources = {
  /** Those that a candidate can name, in the order given. */
  readonly sources: readonly CandidateSource[];
  /** Error that holds a deployment target whose files no candidate can name; undefined without one. */
  readonly whyNot: (target: DeploymentTarget) => FleetError | undefined;
};

/** Most sources of a candidate that readers take. */
const MAX_SOURCES = 10_000;

/**
 * Judges sources as readers of a candidate do, before anything names them. One that they refuse holds the targets that it is of; of too
 * many, those of the workspaces with the most.
 * @throws FleetError FIELD_INVALID for a source of the platform itself
 */
export const listSources = (
  snapshots: readonly SourceSnapshot[],
  targets: readonly DeploymentTarget[],
): ListedSources => {
  const wrong = new Map<string, FleetError>();
  const sources = snapshots.map(toCandidateSource);
  for (const source of sources) {
    const why = refusalOf(source);
    if (!why) continue;
    if (!TEAM_SOURCE.test(source.role)) throw why;
    wrong.set(source.role, why);
  }
  const read = sources.filter(({ role }) => !wrong.has(role));
  for (const [role, why] of tooMany(read, targets)) wrong.set(role, why);
  return {
    sources: read.filter(({ role }) => !wrong.has(role)),
    whyNot: ({ name, registration }) =>
      wrong.get(`application/${name}`) ??
      (registration === undefined ? undefined : wrong.get(`workload/${registration}`)),
  };
};

const TEAM_SOURCE = /^(?:workload|application)\//;

const refusalOf = (source: CandidateSource): FleetError | undefined => {
  try {
    parseDocument('candidate', { fleet: 'any', sources: [source], images: [], charts: [] }, 'the candidate');
    return undefined;
  } catch (error) {
    if (!(error instanceof FleetError)) throw error;
    return new FleetError('FIELD_INVALID', `no release can name its source: ${error.message}`, {
      hint: 'Use a shorter path, address or name',
      cause: error,
    });
  }
};

/** By role. Targets of the platform itself come before those of workspaces, and small workspaces before large ones. */
const tooMany = (
  sources: readonly CandidateSource[],
  targets: readonly DeploymentTarget[],
): ReadonlyMap<string, FleetError> => {
  const unique = uniqueSources(sources);
  const over = new Map<string, FleetError>();
  if (unique.length <= MAX_SOURCES) return over;
  const byRole = Map.groupBy(unique, ({ role }) => role);
  const owned = [...new Set(targets)].flatMap((target) => {
    const count = byRole.get(`application/${target.name}`)?.length ?? 0;
    return count === 0 || target.registration === undefined ? [] : [{ target, count }];
  });
  const sizes = new Map(
    [...Map.groupBy(owned, ({ target }) => target.workspace)].map(([name, own]) => [
      name,
      own.reduce((sum, { count }) => sum + count, 0),
    ]),
  );
  const sizeOf = ({ workspace }: DeploymentTarget): number => sizes.get(workspace) ?? 0;
  const largestFirst = owned.toSorted(
    (a, b) =>
      sizeOf(b.target) - sizeOf(a.target) ||
      compareBytes(b.target.workspace, a.target.workspace) ||
      b.count - a.count ||
      compareBytes(b.target.name, a.target.name),
  );
  let left = unique.length;
  for (const { target, count } of largestFirst) {
    if (left <= MAX_SOURCES) break;
    left -= count;
    const message = `the folders of workspace ${target.workspace} are more than a release can name beside those of others: ${unique.length} of ${MAX_SOURCES}`;
    over.set(
      `application/${target.name}`,
      new FleetError('WORKSPACE_LIMIT', message, { subject: target.name, hint: 'Use fewer folders' }),
    );
  }
  return over;
};
