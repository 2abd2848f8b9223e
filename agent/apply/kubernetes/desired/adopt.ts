/**
 * Which existing objects a package may take over: none; those without an owner; those of any owner that do not differ from the package's; all.
 */
export type Adopt = 'never' | 'ifUnowned' | 'ifEqual' | 'always';

export const ADOPTS: readonly Adopt[] = ['never', 'ifUnowned', 'ifEqual', 'always'];

/** True if each rule permits the takeover: the rule of an object may not go beyond what the platform grants to its workspace. */
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
