import { defined } from '#bundles/defined';
import { FleetError } from '#bundles/errors';
import type { HeldAssignment } from '../../model/model.ts';
import type { AssembledPackage } from './assembled-package.ts';
import type { BundleInput, Hold } from './bundle-input.ts';
import type { HeldPackage } from './built-bundle.ts';
import type { LastGood } from './last-good-packages.ts';

/** If the last good package of a held assignment cannot be used either, nothing is released and both errors are reported. */
export const withoutKept = ({ assignment, error }: HeldPackage, why: FleetError): HeldPackage => {
  const { code, subject, at, hint } = error;
  const message = `${error.message}; and its last good package cannot stay: ${why.message}`;
  return {
    assignment,
    error: new FleetError(code, message, { subject, at, hint: hint ?? why.hint, cause: why }),
  };
};

/** A held assignment with its package of the last release, or of the bundle that it is held at. */
export const withLastGood = async (
  held: HeldAssignment,
  { lastGood, rolledBack, holds }: Pick<BundleInput, 'lastGood' | 'rolledBack' | 'holds'>,
): Promise<HeldPackage> => {
  const { name } = held.assignment.target;
  const back = rolledBack.get(name);
  const hold = holds?.get(name);
  // An assignment that cannot be built has no package, so a rollback limited to one package does not apply.
  const isBack = back && (held.error.code === 'ROLLED_BACK' || back.instead === undefined);
  if (hold?.lastGood && !isBack)
    return keptFrom(hold, hold.lastGood, held, await hold.lastGood.of(held.assignment));
  const kept = await (isBack ? back.lastGood : lastGood).of(held.assignment);
  if (!kept) return held;
  return isBack && back.lastGood.bundle
    ? { assignment: held.assignment, error: back.error, kept, from: back.lastGood.bundle }
    : { ...held, kept };
};

const keptFrom = (
  { declaredIn }: Hold,
  { bundle: from }: LastGood,
  held: HeldAssignment,
  kept: AssembledPackage | undefined,
): HeldPackage =>
  kept
    ? { ...held, kept, ...defined({ from: from || undefined, declaredIn: declaredIn || undefined }) }
    : held;

/** Packages that are kept although no target is assigned any more. */
export const undeclared = async (
  { holds = new Map() }: BundleInput,
  assembled: readonly AssembledPackage[],
  held: readonly HeldAssignment[],
): Promise<readonly HeldPackage[]> => {
  const known = namesOf(assembled, held);
  const found: HeldPackage[] = [];
  for (const [id, hold] of holds) {
    const kept = known.has(id) ? undefined : await hold.lastGood?.ofId(id);
    if (kept && hold.lastGood)
      found.push(keptFrom(hold, hold.lastGood, { assignment: kept.assignment, error: hold.error }, kept));
  }
  return found;
};

const namesOf = (
  assembled: readonly AssembledPackage[],
  held: readonly HeldAssignment[],
): ReadonlySet<string> =>
  new Set([...assembled.map(({ id }) => id), ...held.map(({ assignment }) => assignment.target.name)]);

/**
 * Packages of applications whose repository cannot be read. Their targets are unknown, so that the packages of these applications in the
 * previous release are kept.
 */
export const unreadable = async (
  {
    platform: { heldWorkloads = [] },
    lastGood,
    holds = new Map(),
    registrationOf = async () => undefined,
  }: BundleInput,
  assembled: readonly AssembledPackage[],
  held: readonly HeldAssignment[],
): Promise<readonly HeldPackage[]> => {
  const known = new Set([...namesOf(assembled, held), ...holds.keys()]);
  return (await lastGood.ofUnread(heldWorkloads, known, registrationOf)).map(
    ({ kept, of: { registration, errors } }) => {
      const error = errors[0] ?? new FleetError('SOURCE_UNREACHABLE', 'its repository cannot be read');
      return { assignment: kept.assignment, error, kept, registration };
    },
  );
};

/** Assignments that were held because of other packages, and whose last good package is not in the bundle yet. */
export const droppedWithLastGood = async (
  held: readonly HeldPackage[],
  before: readonly HeldPackage[],
  { lastGood, holds }: BundleInput,
): Promise<ReadonlyMap<string, Hold>> => {
  const dropped = new Map<string, Hold>();
  for (const { assignment, error } of held) {
    const { name } = assignment.target;
    if (holds?.has(name) || before.some((one) => one.assignment.target.name === name)) continue;
    if (await lastGood.of(assignment)) dropped.set(name, { error });
  }
  return dropped;
};
