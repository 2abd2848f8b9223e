import { defined } from '#bundles/defined';
import type { Declared, DeclaredPolicy } from '#bundles/formats/candidate';
import { compareBytes } from '#bundles/digest';
import type { Declarations, DeploymentTarget, PlatformForm, SchedulingPolicy } from '../../model/model.ts';
import { type ObjectOf, ofKind, type PlatformObject } from '../objects/platform-object.ts';
import type { Source } from '../sources/open-sources.ts';

export type DeclarationInput = {
  readonly form: PlatformForm;
  readonly parts: readonly {
    readonly source: Pick<Source, 'snapshot' | 'files' | 'prefix'>;
    readonly objects: readonly PlatformObject[];
  }[];
  /** The parts' objects after clashes and replacements. */
  readonly objects: readonly PlatformObject[];
  readonly targets: readonly DeploymentTarget[];
  /** Registrations whose Workloads have a deployment target in any environment. */
  readonly filled: ReadonlySet<string>;
};

export const readDeclarations = ({
  form,
  parts,
  objects,
  targets,
  filled,
}: DeclarationInput): Declarations => {
  const registrations = ofKind(objects, 'WorkloadRegistration');
  const placeOfFile = new Map<string, string>();
  const places = new Map<string, 'filled' | 'empty'>();
  for (const { source, objects: own } of parts) {
    const used = new Set(own.filter(hasContent).map(({ at }) => at.file));
    for (const { path } of source.files) {
      const shown = `${source.prefix}${path}`;
      // In our form a promoted layer is a separate source, in which files keep their paths.
      const place = form === 'fleet' ? path : `${source.snapshot.role}:${path}`;
      placeOfFile.set(shown, place);
      if (used.has(shown) || !places.has(place)) places.set(place, used.has(shown) ? 'filled' : 'empty');
    }
  }
  for (const { name } of registrations) places.set(placeOf(name), filled.has(name) ? 'filled' : 'empty');
  const lists = new Map<string, Lists>();
  const listsAt = (place: string | undefined): Lists => {
    const found = lists.get(place ?? '') ?? { registrations: [], targets: [], policies: [] };
    if (place !== undefined) lists.set(place, found);
    return found;
  };
  for (const { name, at } of registrations) listsAt(placeOfFile.get(at.file)).registrations.push(name);
  for (const { name, registration, at } of targets)
    listsAt(registration === undefined ? placeOfFile.get(at.file) : placeOf(registration)).targets.push(name);
  for (const { policy } of ofKind(objects, 'SchedulingPolicy'))
    listsAt(placeOfFile.get(policy.at.file)).policies.push(toDeclared(policy));
  return {
    places,
    declared: [...lists]
      .toSorted(([a], [b]) => compareBytes(a, b))
      .map(([place, found]) => sorted(place, found)),
  };
};

const FOLDER = 'workload/';

/** The place of a registration's folder. */
export const placeOf = (registration: string): string => `${FOLDER}${registration}`;

/** The registration whose folder the place is; undefined for a file. */
export const registrationOf = (place: string): string | undefined =>
  place.startsWith(FOLDER) ? place.slice(FOLDER.length) : undefined;

/** A Workload without targets declares nothing, so its file counts as empty. */
const hasContent = (object: PlatformObject): boolean =>
  object.kind !== 'Workload' || (object satisfies ObjectOf<'Workload'>).targets.length > 0;

type Lists = {
  readonly registrations: string[];
  readonly targets: string[];
  readonly policies: DeclaredPolicy[];
};

const toDeclared = ({ name, workspace, targets, clusterTypes }: SchedulingPolicy): DeclaredPolicy => ({
  name,
  workspace,
  targets,
  clusterTypes,
});

const sorted = (place: string, { registrations, targets, policies }: Lists): Declared =>
  defined({
    in: place,
    registrations: registrations.length > 0 ? registrations.toSorted(compareBytes) : undefined,
    targets: targets.length > 0 ? [...new Set(targets)].toSorted(compareBytes) : undefined,
    policies: policies.length > 0 ? policies.toSorted((a, b) => compareBytes(a.name, b.name)) : undefined,
  });
