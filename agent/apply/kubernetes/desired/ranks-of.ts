import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import { isDefinition } from './resolve-wanted.ts';
import type { WantedObject } from './wanted-object.ts';

/** Ranks of objects by key, from 0 without gaps. Objects of one rank are applied by kind, and have to be healthy before the next rank. */
export type Ranks = ReadonlyMap<string, number>;

const PHASES = ['before', 'main', 'after'] as const;

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
  const levelOf = (object: Ranked, path: readonly Ranked[]): readonly number[] => {
    const known = levels.get(object.key);
    if (known) return known;
    const at = path.findIndex(({ key }) => key === object.key);
    if (at !== -1) throw circle([...path.slice(at), object]);
    const [phase, wave] = placeOf(object);
    const needed = object.policy.order.dependsOn.map((reference) => neededBy(byKey, object, reference));
    const steps = needed.map((other) =>
      stepAfter(object, [phase, wave], other, levelOf(other, [...path, object])),
    );
    const level = [phase, wave, Math.max(0, ...steps)];
    levels.set(object.key, level);
    return level;
  };
  for (const object of objects) levelOf(object, []);
  const sorted = [
    ...new Map([...levels.values()].map((level) => [level.join(' '), level])).values(),
  ].toSorted(compare);
  const rank = new Map(sorted.map((level, index) => [level.join(' '), index]));
  return new Map([...levels].map(([key, level]) => [key, rank.get(level.join(' ')) ?? 0]));
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
  const isHolder = isDefinition(object) || (object.group === '' && object.kind === 'Namespace');
  if (isHolder && phase === 'main' && Number(wave) === 0) return [-1, 0];
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

const circle = (path: readonly Ranked[]): FleetError =>
  invalid(
    path[0] as Ranked,
    `depends on itself: ${path.map(({ kind, name }) => `${kind} ${name}`).join(' -> ')}`,
  );

const invalid = ({ kind, name, place }: Ranked, what: string, hint?: string): FleetError =>
  new FleetError('OBJECT_INVALID', `${kind} ${name} ${what}`, {
    at: { file: place },
    ...defined({ hint }),
  });
