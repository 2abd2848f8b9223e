import { FleetError } from '#bundles/errors';
import type { HeldAssignment } from '../../model/model.ts';
import { toMistake } from '../../model/problems.ts';
import { withPlace } from '../../model/with-place.ts';
import type { AssembledPackage } from './assembled-package.ts';
import type { HeldPackage } from './build-bundle.ts';
import type { PackedBundle } from './pack-bundle.ts';

export type Ready = {
  readonly packages: readonly AssembledPackage[];
  readonly held: readonly HeldPackage[];
};

/**
 * Packs the bundle, without packages whose dependencies are not in it. If that fails unexpectedly, the packages that cannot be packed on
 * their own are held: the content of one team never ends the build of the others.
 * @throws FleetError ABORTED, DISK_FULL, and any other error that no single package causes
 */
export const holdUnpackable = async (
  given: Ready,
  pack: (packages: readonly AssembledPackage[]) => Promise<PackedBundle>,
): Promise<Ready & { readonly bundle: PackedBundle }> => {
  const ready = dropUnsupported(withoutGone(given));
  try {
    return { ...ready, bundle: await pack(ready.packages) };
  } catch (error) {
    toMistake(error);
    const wrong = new Map<AssembledPackage, FleetError>();
    for (const one of ready.packages)
      await pack([one]).catch((cause: unknown) => wrong.set(one, toMistake(cause, `packing ${one.id}`)));
    if (wrong.size === 0) throw error;
    const more = [...wrong].map(
      ([{ assignment }, cause]): HeldAssignment => ({
        assignment,
        error: withPlace(cause, assignment.target.at, cause.subject ?? assignment.target.name),
      }),
    );
    const rest = ready.packages.filter((one) => !wrong.has(one));
    return await holdUnpackable({ packages: rest, held: [...ready.held, ...more] }, pack);
  }
};

/**
 * A package of an earlier release stays although what it depended on left the release since: it does not wait for that at the site, and
 * keeps no other team's package from leaving.
 */
const withoutGone = ({ packages, held }: Ready): Ready => {
  const ids = new Set(packages.map(({ id }) => id));
  const kept = new Set(held.flatMap((one) => one.kept ?? []));
  return {
    held,
    packages: packages.map((one) => {
      const { target } = one.assignment;
      if (!kept.has(one) || target.dependsOn.every((id) => ids.has(id))) return one;
      const dependsOn = target.dependsOn.filter((id) => ids.has(id));
      return { ...one, assignment: { ...one.assignment, target: { ...target, dependsOn } } };
    }),
  };
};

/** A package whose dependency is not in the bundle is held too: it would wait for it at the site without end. */
const dropUnsupported = ({ packages, held }: Ready): Ready => {
  const ids = new Set(packages.map(({ id }) => id));
  const unmet = packages.filter(({ assignment }) => assignment.target.dependsOn.some((id) => !ids.has(id)));
  if (unmet.length === 0) return { packages, held };
  const more = unmet.map(({ assignment }): HeldAssignment => {
    const missing = assignment.target.dependsOn.find((id) => !ids.has(id));
    return {
      assignment,
      error: new FleetError(
        'DEPENDENCY_MISSING',
        `${assignment.target.name} depends on ${missing}, which is not in this bundle`,
        {
          subject: assignment.target.name,
          at: assignment.target.at,
        },
      ),
    };
  });
  return dropUnsupported({
    packages: packages.filter((it) => !unmet.includes(it)),
    held: [...held, ...more],
  });
};
