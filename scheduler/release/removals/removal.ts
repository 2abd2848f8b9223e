import { nameSome } from '#bundles/name-some';
import { registrationOf } from '../../load/platform/declarations.ts';

/** Why a package of a channel's last release is not in the new bundle, or has fewer objects in it. */
export type RemovalReason =
  /** The object that produced it was deleted. */
  | { readonly why: 'deleted'; readonly object: string }
  /** Its deployment target is now assigned to another cluster type, which did not have it. */
  | { readonly why: 'moved'; readonly to: string }
  /** It is held, and no last good package is available. */
  | { readonly why: 'held' }
  /** Its deployment target exists, but no policy selects it for this cluster type. */
  | { readonly why: 'unselected' }
  /** The place that declared the object still exists and declares nothing. */
  | { readonly why: 'emptied'; readonly object: string; readonly in: string }
  /** The place that declared the object now declares a new object of that kind. */
  | { readonly why: 'replaced'; readonly object: string; readonly in: string }
  /** No earlier candidate of the environment shows what declared it. */
  | { readonly why: 'unknown' }
  | LostObjects;

/** The package stays, and objects of its application go: those in `gone`, of `of`. */
export type LostObjects = {
  readonly why: 'objects';
  readonly gone: readonly string[];
  readonly of: number;
  /** 'none-left': all of them; 'emptied-file': those of the file `in`, which still exists; 'most': more than half. */
  readonly because: 'none-left' | 'emptied-file' | 'most';
  readonly in?: string;
};

export type Removal = RemovalReason & {
  /** Name of the package, which is the name of its deployment target. */
  readonly assignment: string;
  readonly workspace?: string;
};

/** Whether the removal is certainly intended: the object was deleted, or the package moved to another cluster type. */
export const isDeclaredRemoval = ({ why }: Removal): boolean => why === 'deleted' || why === 'moved';

/** One line per reason with all names: 'info-screen-kiosk, order-api-kiosk: no policy selects it for kiosk any more'. */
export const describeRemovals = (removals: readonly Removal[], clusterType: string): readonly string[] =>
  [...Map.groupBy(removals, (removal) => describeReason(removal, clusterType))].map(
    ([reason, same]) => `${same.map(({ assignment }) => assignment).join(', ')}: ${reason}`,
  );

const describeReason = (removal: Removal, clusterType: string): string => {
  switch (removal.why) {
    case 'deleted':
      return `${removal.object} was deleted`;
    case 'moved':
      return `moves to ${removal.to}`;
    case 'held':
      return 'it is held; give --previous with the layout of the last release';
    case 'unselected':
      return `no policy selects it for ${clusterType} any more`;
    case 'emptied':
      return `${removal.object} is gone from ${describePlace(removal.in)}, which still exists and declares nothing`;
    case 'replaced':
      return `${removal.object} is gone from ${describePlace(removal.in)}, which declares new ones instead`;
    case 'unknown':
      return 'the last release does not record its origin';
    case 'objects':
      return describeLost(removal);
  }
};

const describeLost = ({ gone, of, because, in: file }: LostObjects): string => {
  const names = nameSome(gone);
  switch (because) {
    case 'none-left': {
      const all = of === 1 ? 'the only object' : `all ${of} objects`;
      return `${all} of its application, which is still assigned and brings none (${names})`;
    }
    case 'emptied-file':
      return `${gone.length} of the ${of} objects of its application: ${file} still exists and declares none (${names})`;
    case 'most':
      return `${gone.length} of the ${of} objects of its application, which is still assigned (${names})`;
  }
};

const describePlace = (place: string): string => {
  const registration = registrationOf(place);
  return registration === undefined ? place : `the application of WorkloadRegistration ${registration}`;
};

/** 'a, b and 7 more' */
export const nameRemovals = (removals: readonly Removal[]): string =>
  nameSome(removals.map(({ assignment }) => assignment));
