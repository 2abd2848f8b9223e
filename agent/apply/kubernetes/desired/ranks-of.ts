import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { isNamespace } from './kind-order.ts';
import { PHASES } from './order-of.ts';
import { isDefinition } from './resolve-wanted.ts';
import type { WantedObject } from './wanted-object.ts';

/** Ranks of objects by key, from 0 without gaps. Objects of one rank are applied by kind, and have to be healthy before the next rank. */
export type Ranks = ReadonlyMap<string, number>;

type Ranked = Pick<WantedObject, 'key' | 'group' | 'apiVersion' | 'kind' | 'name' | 'place' | 'policy'>;

/**
 * Ranks by phase, then wave, then dependencies (checklist O2, O3). Namespaces and definitions without a wave come first: hooks need them.
 * @throws FleetError OBJECT_INVALID for a wave that is not a whole number, a dependency on an object that is not in the package or comes in a
 * later wave, and a circle, with its edges
 */
export const ranksOf = (objects: readonly Ranked[]): Ranks => {
  if (!objects.some(hasOrder)) return new Map();
  const byKey = new Map(objects.map((object) => [object.key, object]));
  const levels = new Map<string, readonly number[]>();
  for (const object of objects) addLevels(object, byKey, levels);
  const sorted = [
    ...new Map([...levels.values()].map((level) => [level.join(' '), level])).values(),
  ].toSorted(compare);
  const rank = new Map(sorted.map((level, index) => [level.join(' '), index]));
  return new Map([...levels].map(([key, level]) => [key, rank.get(level.join(' ')) ?? 0]));
};

type Visit = {
  readonly object: Ranked;
  readonly place: readonly [phase: number, wave: number];
  readonly needed: readonly Ranked[];
  /** Index of the next object of `needed` to visit. */
  next: number;
};

/** Adds the level of an object after those of all that it needs. Without recursion: a chain may have thousands of objects. */
const addLevels = (
  first: Ranked,
  byKey: ReadonlyMap<string, Ranked>,
  levels: Map<string, readonly number[]>,
): void => {
  const visit = (object: Ranked): Visit => ({
    object,
    place: placeOf(object),
    needed: object.policy.order.dependsOn.map((reference) => neededBy(byKey, object, reference)),
    next: 0,
  });
  const path = levels.has(first.key) ? [] : [visit(first)];
  const onPath = new Set([first.key]);
  for (let at = path.at(-1); at; at = path.at(-1)) {
    const other = at.needed[at.next];
    at.next += 1;
    if (!other) {
      levels.set(at.object.key, levelAfter(at, levels));
      onPath.delete(at.object.key);
      path.pop();
    } else if (onPath.has(other.key)) {
      const chain = path.map(({ object }) => object);
      throw circle([...chain.slice(chain.findIndex(({ key }) => key === other.key)), other]);
    } else if (!levels.has(other.key)) {
      path.push(visit(other));
      onPath.add(other.key);
    }
  }
};

const levelAfter = (
  { object, place, needed }: Visit,
  levels: ReadonlyMap<string, readonly number[]>,
): readonly number[] => {
  const steps = needed.map((other) => stepAfter(object, place, other, levels.get(other.key) ?? []));
  return [...place, Math.max(0, ...steps)];
};

const hasOrder = ({ policy: { order } }: Ranked): boolean =>
  order.phase !== 'main' || order.wave !== '0' || order.dependsOn.length > 0;

const compare = (one: readonly number[], other: readonly number[]): number => {
  const at = one.findIndex((value, index) => value !== other[index]);
  return at === -1 ? 0 : (one[at] ?? 0) - (other[at] ?? 0);
};

const placeOf = (object: Ranked): readonly [phase: number, wave: number] => {
  const { phase, wave } = object.policy.order;
  if (!/^[-+]?\d{1,9}$/.test(wave))
    throw invalid(object, `has the wave ${JSON.stringify(wave)}, which is not a whole number`);
  const isFirst = isDefinition(object) || isNamespace(object);
  if (isFirst && phase === 'main' && Number(wave) === 0) return [-1, 0];
  return [PHASES.indexOf(phase), Number(wave)];
};

const neededBy = (byKey: ReadonlyMap<string, Ranked>, object: Ranked, reference: string): Ranked => {
  const parts = reference.split('/');
  const [group = '', second = '', namespace = '', kind = '', ...name] = parts;
  const key =
    second === 'namespaces' && parts.length === 5
      ? `${group}/${kind}/${namespace}/${name.join('/')}`
      : `${group}/${second}//${namespace}`;
  const found = byKey.get(key);
  if (found) return found;
  throw invalid(
    object,
    `depends on ${JSON.stringify(reference)}, which is not an object of the package`,
    'Write group/namespaces/NAMESPACE/Kind/NAME, or group/Kind/NAME for an object without a namespace; between packages, use dependsOn of the workload',
  );
};

/** The step within the phase and wave of an object that needs another one. */
const stepAfter = (
  object: Ranked,
  place: readonly number[],
  other: Ranked,
  level: readonly number[],
): number => {
  const order = compare(place, level.slice(0, 2));
  if (order < 0)
    throw invalid(object, `depends on ${other.kind} ${other.name}, which comes in a later phase or wave`);
  return order === 0 ? (level[2] ?? 0) + 1 : 0;
};

/** Objects that the message on a circle names. */
const MAX_SHOWN = 20;

const circle = (path: readonly Ranked[]): FleetError => {
  const names = path.slice(0, MAX_SHOWN).map(({ kind, name }) => `${kind} ${name}`);
  const more = path.length - MAX_SHOWN;
  const shown = more > 0 ? [...names, `(${more} more)`] : names;
  return invalid(path[0] as Ranked, `depends on itself: ${shown.join(' -> ')}`);
};

const invalid = ({ kind, name, place }: Ranked, what: string, hint?: string): FleetError =>
  new FleetError('OBJECT_INVALID', `${kind} ${name} ${what}`, {
    at: { file: place },
    ...defined({ hint }),
  });
