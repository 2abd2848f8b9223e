import { defined } from '#bundles/defined';
import { nameSome } from '#bundles/name-some';
import type { Drift } from '../../../model/target.ts';
import type { HostTargetOptions } from '../host-options.ts';
import { fileKey } from '../owned/owned-state.ts';
import { type ForeignFile, type Ours, readForeign, driftedFiles } from '../systemd/foreign-files.ts';
import { packageUnit } from '../systemd/package-unit.ts';
import { readUnits } from '../systemd/unit-state.ts';
import { observeUnit } from './observe-unit.ts';

/** Differences of the units of a package: files that change or replace them, and their enablement and activity. */
export const observeUnits = async (
  options: HostTargetOptions,
  ours: Ours,
  signal: AbortSignal,
): Promise<readonly Drift[]> => {
  const { wanted, owned } = ours;
  const names = wanted.units.map(({ name }) => name);
  const seen = options.services === 'none' ? new Map() : await readUnits(options, names, signal);
  const units = names.map((name) => packageUnit(name, seen.get(name), owned));
  const foreign = await readForeign(options, units, ours, signal);
  const changing = units.flatMap((unit) => driftedFiles(unit, foreign.get(unit.name) ?? [], ours));
  return [
    ...[...Map.groupBy(changing, ({ path }) => path).values()].map(foreignDrift),
    ...wanted.units.flatMap((unit) => {
      const found = seen.get(unit.name);
      return found ? observeUnit(unit, found) : [];
    }),
  ];
};

/** @param files one file, for each unit of the package that it changes or replaces */
const foreignDrift = (files: readonly ForeignFile[]): Drift => {
  const { path, what, stays } = files[0] as ForeignFile;
  const does = what === 'shadow' ? 'replaces' : 'changes';
  const units = nameSome(files.map(({ unit }) => unit));
  const why = stays === undefined ? '' : `; the agent leaves it in place, because ${stays}`;
  return defined({
    key: fileKey(path),
    what,
    message: `${path} ${does} ${units} and is not of the package${why}`,
    stays: stays !== undefined ? true : undefined,
  });
};
