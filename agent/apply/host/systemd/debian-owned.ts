import { join } from 'node:path';
import { COMMAND_ENV, type HostTargetOptions } from '../host-options.ts';

const TIMEOUT_MS = 60_000;

/** Those of the paths that a Debian package of the host brings. dpkg has a file by the name under which its package lists it. */
export const debianOwned = async (
  options: HostTargetOptions,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlySet<string>> => {
  if (paths.length === 0) return new Set();
  const spellings = new Map(paths.flatMap((path) => spellingsOf(path).map((one) => [one, path] as const)));
  const { stdout } = await options.run(
    ['dpkg-query', `--admindir=${join(options.root, 'var/lib/dpkg')}`, '--search', '--', ...spellings.keys()],
    { timeoutMs: TIMEOUT_MS, signal, cwd: '/', env: COMMAND_ENV },
  );
  // 'systemd: /lib/systemd/system/x'; it ends with 1 where no package has one of them.
  const found = stdout.split('\n').flatMap((line) => spellings.get(line.slice(line.indexOf(': ') + 2)) ?? []);
  return new Set(found);
};

const spellingsOf = (path: string): readonly string[] => {
  const bare = path.replace(/^\/usr(?=\/lib\/)/, '');
  return bare.startsWith('/lib/') ? [bare, `/usr${bare}`] : [path];
};
