/**
 * Which existing object a package may take over: none; one that belongs to nobody; one, of anybody, that does not differ from the
 * package's; any.
 */
export type Adopt = 'never' | 'ifUnowned' | 'ifEqual' | 'always';

export const ADOPTS: readonly Adopt[] = ['never', 'ifUnowned', 'ifEqual', 'always'];

/** True if each rule permits the takeover: that of an object may not go beyond what the platform grants to its workspace. */
export const permits = (
  rules: readonly Adopt[],
  { isOwned, isEqual }: { readonly isOwned: boolean; readonly isEqual: boolean },
): boolean =>
  rules.every((rule) => {
    switch (rule) {
      case 'never':
        return false;
      case 'ifUnowned':
        return !isOwned;
      case 'ifEqual':
        return isEqual;
      case 'always':
        return true;
    }
  });
