import { homedir } from 'node:os';
import { join, relative, resolve } from 'node:path';
import { type Configuration, requireSetting } from '../../settings/configuration.ts';
import type { PlatformOptions } from './load-options.ts';
import { isRepositoryUrl } from '../../model/repository-url.ts';

/** Default cache of repositories (XDG base directory specification). */
const defaultCache = (env: NodeJS.ProcessEnv): string =>
  join(env['XDG_CACHE_HOME'] ?? join(homedir(), '.cache'), 'fleet-ferry', 'git');

/** The cache of repositories that a configuration names, or the default. */
export const cacheFolder = ({ cache }: Configuration, env: NodeJS.ProcessEnv): string =>
  resolve(cache ?? defaultCache(env));

/** Options of every command that reads a platform. Directories are shown relative to `cwd` if they are below it. */
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
    cacheDirectory: cacheFolder(configuration, env),
    env,
    signal,
  };
};

const shown = (path: string, cwd: string): string => {
  const near = relative(cwd, path) || '.';
  return near.startsWith('..') ? path : near;
};
