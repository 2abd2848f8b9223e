import { useSyncExternalStore } from 'react';
import { parsePreferences, type Preferences } from './parse-preferences.ts';

const KEY = 'fleet-ferry-preferences';

const followers = new Set<() => void>();
let current: Preferences | undefined;

const read = (): Preferences => {
  current ??= parsePreferences(localStorage.getItem(KEY));
  return current;
};

/** Shows the rows of all tables as the person wants them. */
export const applyPreferences = (): void => {
  document.documentElement.dataset['rows'] = read().rows;
};

export const keepPreferences = (changed: Partial<Preferences>): void => {
  current = { ...read(), ...changed };
  localStorage.setItem(KEY, JSON.stringify(current));
  applyPreferences();
  for (const follower of followers) follower();
};

const follow = (follower: () => void): (() => void) => {
  followers.add(follower);
  return () => followers.delete(follower);
};

export const usePreferences = (): Preferences => useSyncExternalStore(follow, read);
