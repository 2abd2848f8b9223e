import { useSyncExternalStore } from 'react';

/** How a person wants the page to look, kept in this browser. */
export type Preferences = {
  readonly times: 'utc' | 'local';
  readonly rows: 'normal' | 'compact';
};

export const DEFAULT_PREFERENCES: Preferences = { times: 'utc', rows: 'normal' };

const KEY = 'fleet-ferry-preferences';

const followers = new Set<() => void>();
let current: Preferences | undefined;

/** Known choices of the stored text; the defaults of everything else. */
export const parsePreferences = (text: string | null): Preferences => {
  const given = parsed(text);
  return {
    times: given['times'] === 'local' ? 'local' : DEFAULT_PREFERENCES.times,
    rows: given['rows'] === 'compact' ? 'compact' : DEFAULT_PREFERENCES.rows,
  };
};

const parsed = (text: string | null): Readonly<Record<string, unknown>> => {
  try {
    const value: unknown = JSON.parse(text ?? '{}');
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  } catch {
    return {};
  }
};

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
