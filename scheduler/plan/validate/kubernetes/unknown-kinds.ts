import { FleetError, type Place } from '#bundles/errors';

type UnknownObject = { readonly apiVersion: string; readonly kind: string; readonly at: Place };

/** The first object of each kind, in the given order. */
export const firstOfEachKind = <T extends UnknownObject>(objects: readonly T[]): readonly T[] => {
  const first = new Map<string, T>();
  for (const object of objects) {
    const key = `${object.apiVersion} ${object.kind}`;
    if (!first.has(key)) first.set(key, object);
  }
  return [...first.values()];
};

/** One UNKNOWN_KIND warning for each kind. */
export const unknownKinds = (objects: readonly UnknownObject[]): readonly FleetError[] =>
  firstOfEachKind(objects).map(
    ({ apiVersion, kind, at }) =>
      new FleetError(
        'UNKNOWN_KIND',
        `nothing is known of ${apiVersion} ${kind}, so its fields are not checked`,
        {
          subject: kind,
          at,
          hint: 'Put its CustomResourceDefinition into the folder crds/ of the platform',
        },
      ),
  );
