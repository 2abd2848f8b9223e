import type { Places } from '../live/read-places.ts';

/** Prefixes of keys that name a path. */
const PATH_KEY = /^(file|secret|directory|parent):(\/.*)$/s;

/**
 * Keys of the inventory whose path leads elsewhere today -> the key of that place (read-places.ts): the key of an older agent, which
 * recorded names and not places, or of a path whose parent became a link or a mount since.
 */
export const currentKeys = async (
  places: Places,
  keys: Iterable<string>,
): Promise<ReadonlyMap<string, string>> => {
  const changed = new Map<string, string>();
  for (const key of keys) {
    const [, kind, path] = PATH_KEY.exec(key) ?? [];
    if (path === undefined) continue;
    const today = `${kind}:${await places.file(path)}`;
    if (today !== key) changed.set(key, today);
  }
  return changed;
};
