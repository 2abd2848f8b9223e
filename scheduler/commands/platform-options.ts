import { homedir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { type Configuration, requireSetting } from '../configuration.ts';
import type { PlatformOptions } from '../platform/load-options.ts';
import { isRepositoryUrl } from '../platform/sources/repository-url.ts';

/** Where repositories are kept between runs when nobody says otherwise (XDG base directory specification). */
const defaultCache = (env: NodeJS.ProcessEnv): string =>
  join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'fleet-ferry', 'git');

/** What every verb that reads a platform hands on. Directories are shown as a person in `cwd` would write them. */
export const platformOptions = (
  configuration: Configuration,
  {
    cwd,
    env,
    signal,
  }: { readonly cwd: string; readonly env: NodeJS.ProcessEnv; readonly signal: AbortSignal },
): PlatformOptions => {
  const platform = requireSetting(configuration, 'platform');
  return {
    platform: isRepositoryUrl(platform) ? platform : shown(platform, cwd),
    maps: configuration.maps,
    cacheDirectory: resolve(configuration.cache ?? defaultCache(env)),
    env,
    signal,
  };
};

const shown = (path: string, cwd: string): string => {
  const near = relative(cwd, path) || '.';
  return near.startsWith('..') ? path : near;
};
