import type { Owned } from '../owned/owned-state.ts';
import { type Quadlets, quadletOf } from './quadlets.ts';
import type { KnownUnit } from './unit-files.ts';
import type { SeenUnit, UnitState } from './unit-state.ts';

/** A unit of the package, and what systemd says about it; `state` is undefined for a template and where systemd cannot be asked. */
export type PackageUnit = KnownUnit & { readonly state: UnitState | undefined };

/** @param quadlets what Podman's generator says; where it is not known, the inventory has what it said last */
export const packageUnit = (
  name: string,
  seen: SeenUnit | undefined,
  owned: Owned,
  quadlets?: Quadlets,
): PackageUnit => {
  const isKnown = quadlets !== undefined && quadlets.answer !== 'unknown';
  const quadlet = isKnown ? quadletOf(quadlets, name) : owned.units.get(name)?.quadlet;
  return { name, names: [...new Set([name, ...(seen?.state?.names ?? [])])], state: seen?.state, quadlet };
};
