import type { HostUnit } from '#bundles/formats/bundle/host-package';
import { compareBytes } from '#bundles/digest';
import type { Step } from '../../../model/target.ts';
import { note, toStep } from '../host-step.ts';
import { type OwnedUnit, unitKey } from '../owned/owned-state.ts';
import { isFileOfUnit } from '../systemd/unit-files.ts';
import type { UnitContext } from './plan-context.ts';

/** Stops and disables units that the package no longer lists, with what they have started of the package. */
export const planUnitRemovals = (context: UnitContext): readonly Step[] => {
  const { owned, wanted, taken, options } = context;
  return unitsToRemove(owned.units, wanted?.units ?? []).flatMap(([name, { replaced }]) => {
    const key = unitKey(name);
    const other = taken.get(key);
    if (other !== undefined) return [note(key, 'unchanged', `now belongs to ${other}`)];
    if (replaced) return [];
    if (options.services === 'none') return [note(key, 'skipped', 'no init')];
    const reason = 'no longer in the package: stopped and disabled';
    const detail = { name, stops: startedBy(context, name) };
    return [toStep(key, 'deleted', reason, { kind: 'unit-removal', detail })];
  });
};

/** Units with a file of the package that this socket, timer or path unit starts, and that the package does not list. */
const startedBy = ({ owned, wanted, seen }: UnitContext, name: string): readonly string[] =>
  (seen.get(name)?.state?.triggers ?? []).filter(
    (unit) =>
      !wanted?.units.some((one) => one.name === unit) &&
      [...owned.files.keys()].some((path) => isFileOfUnit({ name: unit, names: [unit] }, path)),
  );

/** In reverse order of their start. */
export const unitsToRemove = (
  owned: ReadonlyMap<string, OwnedUnit>,
  wanted: readonly HostUnit[],
): readonly (readonly [string, OwnedUnit])[] =>
  [...owned]
    .filter(([name]) => !wanted.some((unit) => unit.name === name))
    .toSorted(([a, one], [b, two]) => two.order - one.order || compareBytes(a, b));
