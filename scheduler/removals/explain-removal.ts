import type { Candidate, Declared, DeclaredPolicy } from '#bundles/candidate';
import { type Declarations, registrationOf } from '../platform/declarations.ts';
import type { ClusterType, Platform } from '../platform/model.ts';
import { matchLabels } from '../schedule/match-labels.ts';
import { selectsTarget } from '../schedule/select-pairs.ts';
import type { RemovalReason } from './removal.ts';

type Kind = 'registrations' | 'targets' | 'policies';

const KIND_NAMES: Readonly<Record<Kind, string>> = {
  registrations: 'WorkloadRegistration',
  targets: 'DeploymentTarget',
  policies: 'SchedulingPolicy',
};

/** One place of a candidate, and everything else that the candidate declares. */
type Before = { readonly place: Declared; readonly declared: readonly Declared[] };

/**
 * Why a package is gone, by the candidates of the environment's last releases and what is declared now
 * (docs/candidates.md, "What is declared").
 * @param history candidates that were released since the channel's last release, and that release's own, newest first
 */
export const explainRemoval = (
  id: string,
  clusterType: ClusterType,
  { targets, policies, declarations }: Pick<Platform, 'targets' | 'policies' | 'declarations'>,
  history: readonly Pick<Candidate, 'declared'>[],
): RemovalReason => {
  if (!declarations) return { why: 'unknown' };
  const find = findIn(history);
  const target = targets.find(({ name }) => name === id);
  if (!target) {
    const before = find('targets', id);
    return before ? judgeGone('targets', id, before, declarations) : { why: 'unknown' };
  }
  const kept = new Set(policies.map(({ name }) => name));
  /** Without the deletion the package would still be there: labels are read as they are now. */
  const wouldSelect = (policy: DeclaredPolicy): boolean =>
    !kept.has(policy.name) &&
    selectsTarget({ ...policy, at: clusterType.at }, target) &&
    matchLabels(policy.clusterTypes, clusterType.labels);
  const reasons = history.flatMap(({ declared = [] }) =>
    declared.flatMap((place) =>
      (place.policies ?? [])
        .filter(wouldSelect)
        .map(({ name }) => judgeGone('policies', name, { place, declared }, declarations)),
    ),
  );
  return reasons.find(({ why }) => why === 'deleted') ?? reasons[0] ?? { why: 'unselected' };
};

/** The newest candidate that declares a name, and where. */
const findIn =
  (history: readonly Pick<Candidate, 'declared'>[]) =>
  (kind: 'registrations' | 'targets', name: string): Before | undefined => {
    for (const { declared = [] } of history) {
      const place = declared.find((one) => one[kind]?.includes(name));
      if (place) return { place, declared };
    }
    return undefined;
  };

/**
 * An object that is gone was deleted when the place that declared it is gone too, or still declares objects of its kind
 * and none that it did not have. An empty place was emptied; a new name in it may be the old one, misspelled.
 */
const judgeGone = (
  kind: Kind,
  name: string,
  { place, declared }: Before,
  now: Declarations,
): RemovalReason => {
  const object = `${KIND_NAMES[kind]} ${name}`;
  const state = now.places.get(place.in);
  if (state === undefined) {
    const registration = registrationOf(place.in);
    if (registration === undefined) return { why: 'deleted', object };
    const above = declared.find(({ registrations }) => registrations?.includes(registration));
    return above
      ? judgeGone('registrations', registration, { place: above, declared }, now)
      : { why: 'unknown' };
  }
  if (state === 'empty') return { why: 'emptied', object, in: place.in };
  const had = namesIn(place, kind);
  const has = namesIn(
    now.declared.find((one) => one.in === place.in),
    kind,
  );
  if ([...has].some((one) => !had.has(one))) return { why: 'replaced', object, in: place.in };
  return { why: 'deleted', object };
};

const namesIn = (place: Declared | undefined, kind: Kind): ReadonlySet<string> =>
  new Set(kind === 'policies' ? (place?.policies ?? []).map(({ name }) => name) : (place?.[kind] ?? []));
