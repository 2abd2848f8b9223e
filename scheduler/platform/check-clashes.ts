import { FleetError, formatPlace } from '#bundles/errors';
import type { PlatformObject } from './objects/platform-object.ts';

/** What makes two objects the same one. */
export const objectKey = (object: PlatformObject): string => `${object.kind}\0${object.name}`;

/**
 * The objects without later ones of the same kind and name; each of those is NAME_CLASH, because which of two wins
 * would depend on the order in which they are read.
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
          `${object.kind} ${object.name} is there twice, first at ${formatPlace(other.at)}`,
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
