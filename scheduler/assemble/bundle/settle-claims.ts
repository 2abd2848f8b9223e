import type { HeldAssignment } from '../../model/model.ts';
import type { AssembledPackage } from './assembled-package.ts';
import type { BundleInput } from './bundle-input.ts';
import type { HeldPackage } from './built-bundle.ts';
import { type Before, refuseConflictingClaims } from './claim-package.ts';
import { withLastGood, withoutKept } from './stand-ins.ts';

export type Settled = {
  readonly assembled: readonly AssembledPackage[];
  readonly held: readonly HeldPackage[];
};

/**
 * Holds the packages that claim what belongs to another one of the bundle, until each name has one owner. The package that is kept
 * for a refused one claims its names, too: it had them in the last release.
 */
export const settleClaims = async (
  given: Settled,
  input: Pick<BundleInput, 'lastGood' | 'rolledBack' | 'holds'>,
): Promise<Settled> => {
  const before = beforeOf(input);
  let { assembled } = given;
  let held = oncePerId(assembled, given.held);
  for (;;) {
    const kept = held.flatMap((one) => one.kept ?? []);
    const refused = await refuseConflictingClaims(
      [...kept.map((made) => ({ made, kept: true })), ...assembled.map((made) => ({ made, kept: false }))],
      before,
    );
    if (refused.size === 0) return { assembled, held };
    const newlyHeld = assembled.flatMap((made): readonly HeldAssignment[] => {
      const error = refused.get(made);
      return error ? [{ assignment: made.assignment, error }] : [];
    });
    assembled = assembled.filter((made) => !refused.has(made));
    held = oncePerId(assembled, [
      ...held.map((one) => {
        const error = one.kept && refused.get(one.kept);
        return error ? withoutKept(one, error) : one;
      }),
      ...(await Array.fromAsync(newlyHeld, (one) => withLastGood(one, input))),
    ]);
  }
};

/** A name that two targets claim has one package: the one that is built, else the first that is kept. */
const oncePerId = (
  assembled: readonly AssembledPackage[],
  held: readonly HeldPackage[],
): readonly HeldPackage[] => {
  const ids = new Set(assembled.map(({ id }) => id));
  return held.map((one) => {
    if (!one.kept) return one;
    if (ids.has(one.kept.id)) return { assignment: one.assignment, error: one.error };
    ids.add(one.kept.id);
    return one;
  });
};

/** Reads a package of the last release only where a name is contested, and once. */
const beforeOf = ({ lastGood }: Pick<BundleInput, 'lastGood'>): Before => {
  const known = new Map<string, ReturnType<BundleInput['lastGood']['of']>>();
  return async (made) => {
    const found = known.get(made.id) ?? lastGood.of(made.assignment);
    known.set(made.id, found);
    const past = await found;
    const { workspace } = made.assignment.target;
    return past?.assignment.target.workspace === workspace ? past : undefined;
  };
};
