import type { HostRauc } from '#bundles/formats/bundle/host-package';
import { FleetError, type Place } from '#bundles/errors';
import type { Content } from './content.ts';
import type { HostPackageObject } from './host-package-object.ts';
import { contentOf, type Placing } from './place-contents.ts';

/** `rauc` of package.json with its bytes, and the place that requests it. */
export type PlacedRauc = { readonly rauc: HostRauc; readonly content: Content; readonly at: Place };

/**
 * The one RAUC bundle of a package; undefined without one.
 * @throws FleetError OBJECT_CLASH for a second one, REFERENCE_MISSING; the error of fetching it, with its place
 */
export const placeRauc = async (
  objects: readonly HostPackageObject[],
  placing: Placing,
): Promise<PlacedRauc | undefined> => {
  const [object, second] = objects.flatMap(({ rauc }) => rauc ?? []);
  if (second)
    throw new FleetError('OBJECT_CLASH', `two parts of ${placing.id} have a RAUC bundle`, {
      at: second.at,
      hint: 'A host boots one system: keep one of the two',
    });
  if (!object) return undefined;
  const content = await contentOf(object, placing);
  const { digest, size } = content;
  return { rauc: { version: object.version, digest, size }, content, at: object.at };
};
