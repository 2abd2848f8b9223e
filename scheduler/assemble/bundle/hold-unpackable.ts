import { FleetError } from '#bundles/errors';
import type { HeldAssignment } from '../../model/model.ts';
import { toMistake } from '../../model/problems.ts';
import { withPlace } from '../../model/with-place.ts';
import type { AssembledPackage } from './assembled-package.ts';
import type { HeldPackage } from './built-bundle.ts';
import type { PackedBundle } from './pack-bundle.ts';
import { withoutKept } from './stand-ins.ts';

export type Ready = {
  readonly packages: readonly AssembledPackage[];
  readonly held: readonly HeldPackage[];
};

export type PackingSteps = {
  /** Packs a bundle and reads it back as agents do. */
  readonly pack: (packages: readonly AssembledPackage[]) => Promise<PackedBundle>;
  /** Without packing: throws the error that readers of such a bundle would get. */
  readonly check: (packages: readonly AssembledPackage[]) => void;
  /** The packages, those last that give way first if not all of them fit into one bundle. */
  readonly rank: (packages: readonly AssembledPackage[]) => readonly AssembledPackage[];
};

/**
 * Packs the bundle, without packages whose dependencies are not in it, that cannot be packed or read on their own, or that do not
 * fit beside the others. The content of one team never ends the build of the others.
 * @throws FleetError ABORTED, DISK_FULL, and any other error that no package causes
 */
export const holdUnpackable = async (
  given: Ready,
  steps: PackingSteps,
): Promise<Ready & { readonly bundle: PackedBundle }> => {
  for (let ready = withoutGone(given); ; ) {
    let wrong = unmetIn(ready.packages);
    if (wrong.size === 0) {
      try {
        return { ...ready, bundle: await steps.pack(ready.packages) };
      } catch (error) {
        toMistake(error);
        wrong = overflowing(ready.packages, steps);
        if (wrong.size === 0) wrong = await wrongAlone(ready.packages, steps);
        if (wrong.size === 0) throw error;
      }
    }
    ready = withoutGone(hold(ready, wrong));
  }
};

type Wrong = ReadonlyMap<AssembledPackage, FleetError>;

const hold = ({ packages, held }: Ready, wrong: Wrong): Ready => {
  const rest = packages.filter((one) => !wrong.has(one));
  const kept = new Set(held.map((one) => one.kept));
  const before = held.map((one) => {
    const why = one.kept && wrong.get(one.kept);
    return why ? withoutKept(one, why) : one;
  });
  const more = [...wrong]
    .filter(([one]) => !kept.has(one))
    .map(
      ([{ assignment }, cause]): HeldAssignment => ({
        assignment,
        error: withPlace(cause, assignment.target.at, cause.subject ?? assignment.target.name),
      }),
    );
  return { packages: rest, held: [...before, ...more] };
};

/**
 * A package of an earlier release stays although what it depended on left the release since: it does not wait for that at the site, and
 * keeps no other team's package from leaving.
 */
const withoutGone = ({ packages, held }: Ready): Ready => {
  const ids = new Set(packages.map(({ id }) => id));
  const isPresent = (id: string): boolean => ids.has(id);
  const kept = new Map<AssembledPackage, AssembledPackage>();
  for (const { kept: one } of held) {
    if (!one || one.assignment.target.dependsOn.every(isPresent)) continue;
    const { target } = one.assignment;
    const free = { ...target, dependsOn: target.dependsOn.filter(isPresent) };
    kept.set(one, { ...one, assignment: { ...one.assignment, target: free } });
  }
  if (kept.size === 0) return { packages, held };
  return {
    packages: packages.map((one) => kept.get(one) ?? one),
    held: held.map((one) => (one.kept ? { ...one, kept: kept.get(one.kept) ?? one.kept } : one)),
  };
};

/** A package whose dependency is not in the bundle would wait for it at the site without end. */
const unmetIn = (packages: readonly AssembledPackage[]): Wrong => {
  const ids = new Set(packages.map(({ id }) => id));
  return new Map(
    packages.flatMap((one) => {
      const { name, dependsOn, at } = one.assignment.target;
      const missing = dependsOn.find((id) => !ids.has(id));
      if (missing === undefined) return [];
      const message = `${name} depends on ${missing}, which is not in this bundle`;
      return [[one, new FleetError('DEPENDENCY_MISSING', message, { subject: name, at })] as const];
    }),
  );
};

const wrongAlone = async (packages: readonly AssembledPackage[], { pack }: PackingSteps): Promise<Wrong> => {
  const wrong = new Map<AssembledPackage, FleetError>();
  for (const one of packages)
    await pack([one]).catch((cause: unknown) => wrong.set(one, toMistake(cause, `packing ${one.id}`)));
  return wrong;
};

/** Limits that packages exceed together: the first in rank stay, as many as fit. Empty if all of them fit. */
const overflowing = (packages: readonly AssembledPackage[], { check, rank }: PackingSteps): Wrong => {
  const whyNot = (some: readonly AssembledPackage[]): FleetError | undefined => {
    try {
      check(some);
      return undefined;
    } catch (error) {
      return toMistake(error);
    }
  };
  const why = whyNot(packages);
  // An exception is of one package.
  if (!why || why.code === 'INTERNAL' || whyNot([])) return new Map();
  const ranked = rank(packages);
  let [fit, over] = [0, ranked.length];
  while (over - fit > 1) {
    const middle = (fit + over) >> 1;
    if (whyNot(ranked.slice(0, middle))) over = middle;
    else fit = middle;
  }
  return new Map(
    ranked.slice(fit).map((one) => {
      const { name, workspace, at, clusterType } = { ...one.assignment.target, ...one.assignment };
      const whose = workspace === '' ? name : `workspace ${workspace}`;
      const message = `the packages of ${whose} do not fit into the bundle of ${clusterType.name} beside those of others: ${why.message}`;
      return [
        one,
        new FleetError('WORKSPACE_LIMIT', message, {
          subject: name,
          at,
          hint: 'Make them smaller, or assign fewer of them to this cluster type',
        }),
      ] as const;
    }),
  );
};
