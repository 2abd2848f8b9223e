import { compareItems, type ItemDiff } from '#bundles/formats/diff/compare-items';
import {
  type Item,
  type ParsedFiles,
  readItems,
  type Summary,
  summariseItems,
} from '#bundles/formats/diff/read-items';
import { compareBytes } from '#bundles/digest';
import type { FleetError } from '#bundles/errors';
import { changedImages, type ImageChange } from './changed-images.ts';
import type { EnvironmentView, Files, TypeView } from './view-environment.ts';

export type AssignmentDiff = {
  /** Deployment target. */
  readonly assignment: string;
  /** 'held': it can no longer be built, and sites keep their package; 'healed': it can be built again. */
  readonly outcome: 'created' | 'configured' | 'deleted' | 'held' | 'healed';
  readonly objects: readonly ItemDiff[];
  readonly unchanged: number;
  /** Files that differ only in comments, order or quotes. */
  readonly reformatted: readonly string[];
  /** Why it is held. */
  readonly error: FleetError | undefined;
};

export type TypeDiff = {
  readonly clusterType: string;
  readonly outcome: 'created' | 'configured' | 'deleted' | 'unchanged';
  readonly counts: Readonly<Record<'created' | 'configured' | 'deleted' | 'unchanged', number>>;
  /** Assignments that differ. */
  readonly assignments: readonly AssignmentDiff[];
  readonly images: readonly ImageChange[];
};

export type EnvironmentDiff = {
  readonly environment: string;
  /** Files of no cluster type, like the tracking file. */
  readonly files: readonly ItemDiff[];
  readonly clusterTypes: readonly TypeDiff[];
  /** Errors of the side that could not be read; then nothing is compared. */
  readonly problems: readonly FleetError[];
  /** Why applications of the newer side could not be read; their packages are held. */
  readonly unread: readonly FleetError[];
};

const NO_VIEW: EnvironmentView = { files: new Map(), clusterTypes: new Map(), isKept: () => false };
const NO_FILES: Files = new Map();
const NO_TYPE: TypeView = { readAssignments: () => new Map(), held: new Map() };

/** Compares two states of an environment; undefined: the environment does not exist in that state. Pure. */
export const compareEnvironments = (
  environment: string,
  before: EnvironmentView = NO_VIEW,
  after: EnvironmentView = NO_VIEW,
): EnvironmentDiff => {
  const known: Known = { parsed: new Map(), summaries: new Map() };
  return {
    environment,
    files: compareFiles(readItems(before.files), readItems(after.files)),
    clusterTypes: keysOf(before.clusterTypes, after.clusterTypes).map((name) =>
      compareTypes(name, [before.clusterTypes.get(name), after.clusterTypes.get(name)], after.isKept, known),
    ),
    problems: [],
    unread: after.unread ?? [],
  };
};

export const differs = ({ files, clusterTypes, problems }: EnvironmentDiff): boolean =>
  files.length + problems.length > 0 || clusterTypes.some(({ outcome }) => outcome !== 'unchanged');

/** Packages of many cluster types have the same files. */
type Known = { readonly parsed: ParsedFiles; readonly summaries: Map<string, Summary> };

const compareTypes = (
  clusterType: string,
  [before, after]: readonly [TypeView | undefined, TypeView | undefined],
  isKept: (folder: string) => boolean,
  { parsed, summaries }: Known,
): TypeDiff => {
  const [left, right] = [before ?? NO_TYPE, after ?? NO_TYPE];
  const all = { created: 0, configured: 0, deleted: 0, unchanged: 0 };
  const [itemsBefore, itemsAfter]: [Item[], Item[]] = [[], []];
  const sameImages = new Set<string>();
  const newPackages = right.readAssignments();
  const isSameBundle = left.bundle !== undefined && left.bundle === right.bundle;
  const oldPackages = isSameBundle ? newPackages : left.readAssignments();
  const assignments = keysOf(oldPackages, newPackages, left.held, right.held).flatMap((name) => {
    const [old, now] = [oldPackages.get(name), newPackages.get(name)];
    if (old && isSamePackage(name, [left, right], [old, now])) {
      const { count, images } = summariseItems(old, left.namespaces?.get(name), summaries);
      for (const image of images) sameImages.add(image);
      all.unchanged += count;
      return [];
    }
    const oldItems = readItems(old ?? NO_FILES, parsed);
    itemsBefore.push(...oldItems.values());
    const stays = right.held.has(name) || (!now && isKept(`${clusterType}/${name}`));
    if (stays) {
      itemsAfter.push(...oldItems.values());
      all.unchanged += oldItems.size;
      return isHeldAlike(name, left, right) ? [] : [heldDiff(name, oldItems.size, right.held.get(name))];
    }
    const newItems = hasSameFiles(old, now) ? oldItems : readItems(now ?? NO_FILES, parsed);
    itemsAfter.push(...newItems.values());
    const healed = left.held.has(name) && now !== undefined;
    const diff = compareAssignment(name, [old, now], [oldItems, newItems], healed);
    for (const { outcome } of diff.objects) all[outcome] += 1;
    all.unchanged += diff.unchanged;
    const isSame = diff.objects.length + diff.reformatted.length === 0 && Boolean(old) === Boolean(now);
    return isSame && !healed ? [] : [diff];
  });
  const changed = assignments.length > 0 ? 'configured' : 'unchanged';
  return {
    clusterType,
    outcome: outcomeOf(before, after, changed),
    counts: all,
    assignments,
    images: changedImages(itemsBefore, itemsAfter, sameImages),
  };
};

/** @param healed whether it was held before */
const compareAssignment = (
  assignment: string,
  [old, now]: readonly [Files | undefined, Files | undefined],
  [oldItems, newItems]: readonly [ReadonlyMap<string, Item>, ReadonlyMap<string, Item>],
  healed: boolean,
): AssignmentDiff => {
  const objects = oldItems === newItems ? [] : compareFiles(oldItems, newItems);
  const onBoth = [...newItems.keys()].filter((key) => oldItems.has(key)).length;
  return {
    assignment,
    outcome: healed ? 'healed' : outcomeOf(old, now, 'configured'),
    objects,
    unchanged: onBoth - countOf(objects, 'configured'),
    reformatted: old && now ? reformattedFiles(old, now, objects) : [],
    error: undefined,
  };
};

const isHeldAlike = (name: string, before: TypeView, after: TypeView): boolean =>
  before.held.has(name) && before.held.get(name)?.message === after.held.get(name)?.message;

const isSamePackage = (
  name: string,
  types: readonly TypeView[],
  [old, now]: readonly [Files | undefined, Files | undefined],
): boolean => !types.some(({ held }) => held.has(name)) && hasSameFiles(old, now);

const hasSameFiles = (before: Files | undefined, after: Files | undefined): boolean => {
  if (!before || !after) return false;
  if (before === after) return true;
  return before.size === after.size && [...before].every(([path, bytes]) => after.get(path)?.equals(bytes));
};

const heldDiff = (assignment: string, unchanged: number, error: FleetError | undefined): AssignmentDiff => ({
  assignment,
  outcome: 'held',
  objects: [],
  unchanged,
  reformatted: [],
  error,
});

const compareFiles = (
  before: ReadonlyMap<string, Item>,
  after: ReadonlyMap<string, Item>,
): readonly ItemDiff[] =>
  keysOf(before, after).flatMap((key) => compareItems(before.get(key), after.get(key)) ?? []);

const reformattedFiles = (before: Files, after: Files, objects: readonly ItemDiff[]): readonly string[] => {
  const listed = new Set(objects.map(({ file }) => file));
  return [...after]
    .filter(([path, bytes]) => !listed.has(path) && before.has(path) && !before.get(path)?.equals(bytes))
    .map(([path]) => path);
};

const countOf = (objects: readonly ItemDiff[], wanted: ItemDiff['outcome']): number =>
  objects.filter(({ outcome }) => outcome === wanted).length;

const keysOf = (...maps: readonly ReadonlyMap<string, unknown>[]): readonly string[] =>
  [...new Set(maps.flatMap((map) => [...map.keys()]))].toSorted(compareBytes);

/** @param both the outcome of what is on both sides */
const outcomeOf = <T extends string>(before: unknown, after: unknown, both: T): T | 'created' | 'deleted' => {
  if (!before) return 'created';
  return after ? both : 'deleted';
};
