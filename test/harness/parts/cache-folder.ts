import { randomUUID } from 'node:crypto';
import { existsSync, readdirSync, statSync } from 'node:fs';
import { mkdir, rename, rm } from 'node:fs/promises';
import { homedir } from 'node:os';
import { join, resolve } from 'node:path';

/** Where parts are kept between runs: $FLEET_CACHE, else the user's cache folder. */
export const cacheDirectory = (env: NodeJS.ProcessEnv): string =>
  resolve(env['FLEET_CACHE'] || join(env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'fleet-ferry'));

/**
 * Fills `family/<version>`: `build` works in a temporary folder beside it and says which version that became.
 * Two runs at once do no harm: the first rename wins, and no half-built folder ever has the final name.
 */
export const buildVersion = async (
  family: string,
  build: (temporary: string) => Promise<string>,
): Promise<string> => {
  const temporary = join(family, `.${randomUUID()}`);
  await mkdir(temporary, { recursive: true });
  try {
    const final = join(family, await build(temporary));
    if (!existsSync(final)) await rename(temporary, final).catch(ignoreIfThere(final));
    return final;
  } finally {
    // What a failed build left as root stays behind rather than hide why it failed.
    await rm(temporary, { recursive: true, force: true }).catch(() => {});
  }
};

const ignoreIfThere =
  (final: string) =>
  (error: unknown): void => {
    if (!existsSync(final)) throw error;
  };

/** The file `inside` of the version that was built last, if any. */
export const newestVersion = (family: string, inside: readonly string[]): string | undefined => {
  if (!existsSync(family)) return undefined;
  return readdirSync(family)
    .filter((version) => !version.startsWith('.'))
    .flatMap((version) => inside.map((path) => join(family, version, path)))
    .filter((path) => existsSync(path))
    .map((path) => ({ path, time: statSync(path).ctimeMs }))
    .sort((a, b) => b.time - a.time)[0]?.path;
};
