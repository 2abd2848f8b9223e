import type { Candidate, Declared, DeclaredPolicy } from '#bundles/formats/candidate';
import { registrationOf } from '../../load/platform/declarations.ts';
import type { ClusterType, Declarations, Platform } from '../../model/model.ts';
import { matchLabels } from '../../model/selectors/match-labels.ts';
import { selectsTarget } from '../../model/selectors/select-pairs.ts';
import type { RemovalReason } from './removal.ts';

type Kind = 'registrations' | 'targets' | 'policies';

const KIND_NAMES: Readonly<Record<Kind, string>> = {
  registrations: 'WorkloadRegistration',
  targets: 'DeploymentTarget',
  policies: 'SchedulingPolicy',
};

/** The place that declared an object, and all places of the same candidate. */
type Before = { readonly place: Declared; readonly declared: readonly Declared[] };

/**
 * Explains why a package is no longer in a bundle, by comparing earlier candidates with what is declared now
 * (docs/candidates.md, "What is declared").
 * @param history candidates of the environment released since the channel's last release, and that release's own; newest first
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
  /** Whether a policy that no longer exists would still select the target, judged by the labels as they are now. */
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

/** Finds the newest candidate that declares a name, and the place in it. */
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
 * Decides why an object is gone. It counts as deleted if the place that declared it is gone too, or still declares objects of
 * its kind and no new ones. A place that declares nothing was emptied. A new name in the place may be a misspelling of the old
 * one, so the object counts as replaced.
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
