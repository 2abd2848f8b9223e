import { FleetError } from '#bundles/errors';
import { type ObjectOf, ofKind } from '../objects/platform-object.ts';
import { readObjects } from '../objects/read-objects.ts';
import { type Problems, throwProblems } from '../problems.ts';
import type { Location } from '../sources/location.ts';
import type { Sources } from '../sources/open-sources.ts';

const FLEET_FILE = /^fleet\.ya?ml$/;
const LOCK_FILE = /^images\.lock\.ya?ml$/;

/** What stands at the root of a platform: the Fleet, which says that it is of our form, and the locked images. */
export type PlatformRoot = {
  readonly fleet: ObjectOf<'Fleet'> | undefined;
  readonly imageLocks: ReadonlyMap<string, string>;
};

/** @throws FleetError when fleet.yaml is there but wrong: nothing else can be judged then */
export const findFleet = async (
  sources: Sources,
  location: Location,
  path: string,
  problems: Problems,
): Promise<PlatformRoot> => {
  const source = await sources.read({
    role: 'platform',
    location,
    path,
    ignore: 'none',
    wanted: (name) => FLEET_FILE.test(name) || LOCK_FILE.test(name),
  });
  const wrong: FleetError[] = [];
  const objects = readObjects(source, wrong);
  const [fleet, other] = ofKind(objects, 'Fleet');
  const file = source.files.find((one) => FLEET_FILE.test(one.path));
  if (file && !fleet && wrong.length === 0) {
    wrong.push(
      new FleetError('PLATFORM_INVALID', 'this file holds no Fleet', {
        at: { file: `${source.prefix}${file.path}` },
        hint: 'Begin it with apiVersion: fleet-ferry/v1alpha1 and kind: Fleet',
      }),
    );
  }
  if (other)
    wrong.push(
      new FleetError('NAME_CLASH', 'a platform has one Fleet', { at: other.at, hint: 'Remove one' }),
    );
  if (file && !fleet) throwProblems(wrong, 'the platform');
  problems.found.push(...wrong);
  const locks = ofKind(objects, 'ImagesLock').flatMap((lock) => [...lock.images]);
  return { fleet, imageLocks: new Map(locks) };
};
