import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';

/** Hint for a release that no agent can install. */
export const TELL_PLATFORM_TEAM = 'Tell the platform team: the release has to change; nothing was applied';

type Ordered = {
  readonly assignment: string;
  readonly dependsOn: readonly string[];
  readonly critical: boolean;
  /** Packages that are ready go in the order of their turns. Default: 0. */
  readonly turn?: number;
};

/**
 * Sorts packages so that dependencies come first; among packages that are ready, critical ones first, then by turn and name. Ignores
 * dependencies outside the list (desiredPackages has refused them for a bundle).
 * @throws FleetError DEPENDENCY_CYCLE
 */
export const inOrder = <T extends Ordered>(packages: readonly T[]): readonly T[] => {
  const waiting = new Map(packages.map((item) => [item.assignment, item]));
  const ordered: T[] = [];
  while (waiting.size > 0) {
    const ready = [...waiting.values()].filter((item) => !item.dependsOn.some((id) => waiting.has(id)));
    const [next] = ready.toSorted(
      (a, b) =>
        Number(b.critical) - Number(a.critical) ||
        byEnd(a.turn ?? 0, b.turn ?? 0) ||
        compareBytes(a.assignment, b.assignment),
    );
    if (!next) {
      const names = [...waiting.keys()].toSorted(compareBytes).slice(0, 10).join(', ');
      throw new FleetError('DEPENDENCY_CYCLE', `these packages depend on each other in a circle: ${names}`, {
        hint: TELL_PLATFORM_TEAM,
      });
    }
    ordered.push(next);
    waiting.delete(next.assignment);
  }
  return ordered;
};

/** Two without an end are equal. */
const byEnd = (a: number, b: number): number => (a === b ? 0 : a - b);
