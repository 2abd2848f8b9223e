import { FleetError } from '#bundles/errors';
import type { ContentLocks } from '../../model/content-locks.ts';
import { type Attachment, TAKE_ALL, type Take } from '../../model/images/attachment.ts';
import { type ObjectOf, ofKind } from '../objects/platform-object.ts';
import { readObjects } from '../objects/read-objects.ts';
import { type Problems, throwProblems } from '../../model/problems.ts';
import type { Location } from '../../model/location.ts';
import type { Sources } from '../sources/open-sources.ts';
import { chainMistakes } from './check-chain.ts';

const FLEET_FILE = /^fleet\.ya?ml$/;
const LOCK_FILE = /^images\.lock\.ya?ml$/;

/** The root of a platform: the Fleet, which only our form has, and the lock file. */
export type PlatformRoot = {
  readonly fleet: ObjectOf<'Fleet'> | undefined;
  readonly imageLocks: ReadonlyMap<string, string>;
  /** Digest of a locked manifest -> digest of the index it was selected from. */
  readonly imageIndexes: ReadonlyMap<string, string>;
  /** Digest of a locked image -> platforms that it was found to serve. */
  readonly imagePlatforms: ReadonlyMap<string, readonly string[]>;
  readonly contentLocks: ContentLocks;
  /** Attachments by image digest. */
  readonly imageAttachments: ReadonlyMap<string, readonly Attachment[]>;
  readonly take: Take;
  /** Major version ('v3') by the program that renders. */
  readonly renderers: ReadonlyMap<string, string>;
};

/**
 * @throws FleetError the mistake in fleet.yaml, or PLATFORM_INVALID with several: without a Fleet nothing else can be
 * checked
 */
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
  if (fleet) wrong.push(...chainMistakes(fleet));
  problems.found.push(...wrong);
  const locks = ofKind(objects, 'ImagesLock');
  return {
    fleet,
    imageLocks: new Map(locks.flatMap((lock) => [...lock.images])),
    imageIndexes: new Map(locks.flatMap((lock) => [...lock.indexes])),
    imagePlatforms: new Map(locks.flatMap((lock) => [...lock.platforms])),
    contentLocks: {
      files: new Map(locks.flatMap((lock) => [...lock.files])),
      debs: new Map(locks.flatMap((lock) => [...lock.debs])),
    },
    imageAttachments: new Map(locks.flatMap((lock) => [...lock.attachments])),
    take: locks[0]?.take ?? TAKE_ALL,
    renderers: new Map(locks.flatMap((lock) => [...lock.renderers])),
  };
};
