import { FleetError, formatPlace } from '#bundles/errors';
import type { PlatformObject } from '../objects/platform-object.ts';

/** Identifies an object by kind and name. */
export const objectKey = (object: PlatformObject): string => `${object.kind}\0${object.name}`;

/**
 * Returns the objects without repetitions of a kind and name. Each repetition is added to `problems` as NAME_CLASH, because
 * the result would depend on the order of reading.
 */
export const refuseClashes = (
  objects: readonly PlatformObject[],
  problems: FleetError[],
): readonly PlatformObject[] => {
  const first = new Map<string, PlatformObject>();
  for (const object of objects) {
    const other = first.get(objectKey(object));
    if (!other) first.set(objectKey(object), object);
    else {
      problems.push(
        new FleetError(
          'NAME_CLASH',
          `${object.kind} ${object.name} is declared twice, first at ${formatPlace(other.at)}`,
          {
            subject: `${object.kind} ${object.name}`,
            at: object.at,
            hint: 'Rename or remove one of the two',
          },
        ),
      );
    }
  }
  return [...first.values()];
};
