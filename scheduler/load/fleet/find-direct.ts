import { FleetError } from '#bundles/errors';
import { type EnvironmentEntry, SHARED_KINDS } from '../../model/promotion.ts';
import type { PlatformObject } from '../objects/platform-object.ts';

const SHARED: ReadonlySet<string> = new Set(SHARED_KINDS);

/**
 * Objects in the folder of a chained environment that would bring content or grant rights without a promotion. An environment
 * that builds the newest state has none.
 * @param isChained the build takes everything shared from a promoted candidate, whatever the Fleet of that candidate says
 * @returns NOT_PROMOTED for each
 */
export const findDirect = (
  objects: readonly PlatformObject[],
  { name, promotedFrom, directKinds = [] }: EnvironmentEntry,
  isChained: boolean,
): readonly FleetError[] => {
  if (promotedFrom === undefined && !isChained) return [];
  const allowed: ReadonlySet<string> = new Set(directKinds);
  return objects
    .filter(({ kind }) => SHARED.has(kind) && !allowed.has(kind))
    .map(
      (object) =>
        new FleetError(
          'NOT_PROMOTED',
          `this ${object.kind} would take effect in ${name} without a promotion`,
          {
            subject: `${object.kind} ${object.name}`,
            at: object.at,
            hint: `Move it to base/, whose content is promoted, or allow it with directKinds: [${object.kind}] at ${name} in fleet.yaml`,
          },
        ),
    );
};
