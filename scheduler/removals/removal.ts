import { nameSome } from '#bundles/name-some';
import { registrationOf } from '../platform/declarations.ts';

/** Why a package that the last release of a channel had is not in the bundle that was built. */
export type RemovalReason =
  /** The object that it came of was deleted. */
  | { readonly why: 'deleted'; readonly object: string }
  /** Its deployment target runs on another cluster type now, which did not have it. */
  | { readonly why: 'moved'; readonly to: string }
  /** It is held, and nothing stands in for it. */
  | { readonly why: 'held' }
  /** Its deployment target is there, and no policy selects it for this cluster type. */
  | { readonly why: 'unselected' }
  /** What declared it is still there and declares nothing. */
  | { readonly why: 'emptied'; readonly object: string; readonly in: string }
  /** What declared it declares another object of that kind instead. */
  | { readonly why: 'replaced'; readonly object: string; readonly in: string }
  /** No candidate of the channel's environment says where it came from. */
  | { readonly why: 'unknown' };

export type Removal = RemovalReason & {
  /** Name of the package: its deployment target's. */
  readonly assignment: string;
  readonly workspace?: string;
};

/** Somebody meant it: the object is gone, not emptied or misspelled, or the package goes on elsewhere. */
export const isMeant = ({ why }: Removal): boolean => why === 'deleted' || why === 'moved';

/** 'info-screen-kiosk, order-api-kiosk: no policy selects them for kiosk': one line for each reason, all names in it. */
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
      return `${removal.object} is gone from ${describePlace(removal.in)}, which is still there and declares nothing`;
    case 'replaced':
      return `${removal.object} is gone from ${describePlace(removal.in)}, which declares others that it did not have before`;
    case 'unknown':
      return 'the last release does not say what declared it';
  }
};

const describePlace = (place: string): string => {
  const registration = registrationOf(place);
  return registration === undefined ? place : `the application of WorkloadRegistration ${registration}`;
};

/** 'a, b and 7 more' */
export const nameRemovals = (removals: readonly Removal[]): string =>
  nameSome(removals.map(({ assignment }) => assignment));
