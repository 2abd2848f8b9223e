import { constants, existsSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Agent } from '../store/agent.ts';
import type { Examined } from '../model/target.ts';
import type { Config } from '../config/config.ts';
import { readOwned } from '../store/applied/inventory.ts';
import { readPackages } from '../store/applied/packages.ts';

const FILE = 'file:';
const MAX_NAMED = 5;

/**
 * Checks that no folder with files of packages is on a read-only file system, which not even root can write to. Only the
 * folder itself shows this: a mount below a writable `root` may be read-only.
 */
export const examineFolders = async ({
  state,
  config,
}: Pick<Agent, 'state'> & { readonly config: Pick<Config, 'root' | 'targets'> }): Promise<
  readonly Examined[]
> => {
  if (!config.targets.includes('host')) return [];
  const files = readPackages(state)
    .flatMap(({ assignment }) => readOwned(state, assignment))
    .filter(({ key }) => key.startsWith(FILE))
    .map(({ key }) => key.slice(FILE.length));
  // A first package that failed owns nothing; /etc/fleet is checked because most packages write there.
  const paths = ['/etc/fleet', ...files].map((path) => nearest(dirname(join(config.root, path))));
  const folders = new Set(paths);
  const readOnly: string[] = [];
  for (const folder of [...folders].toSorted()) {
    const why = await access(folder, constants.W_OK).catch((error: NodeJS.ErrnoException) => error.code);
    if (why === 'EROFS') readOnly.push(folder);
  }
  if (readOnly.length === 0) {
    return [{ name: 'folders', verdict: 'good', message: 'no folder of a package is read-only' }];
  }
  const more = readOnly.length > MAX_NAMED ? ` and ${readOnly.length - MAX_NAMED} more` : '';
  const message = `${readOnly.slice(0, MAX_NAMED).join(', ')}${more}: the file system is read-only, so packages cannot be changed there; mount it writable, and the agent continues automatically`;
  return [{ name: 'folders', verdict: 'bad', message }];
};

/** The path itself, or its nearest existing ancestor. */
export const nearest = (path: string): string =>
  existsSync(path) || dirname(path) === path ? path : nearest(dirname(path));
