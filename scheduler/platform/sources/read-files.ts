import type { Dirent } from 'node:fs';
import { readdir, readFile, realpath, stat } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { DEFAULT_IGNORES, type IgnoreRules, isIgnored, parseIgnore } from './source-ignore.ts';

/** A file of a source; `path` is relative to the source's path. */
export type SourceFile = { readonly path: string; readonly bytes: Buffer };

/** A platform is text somebody wrote, an application's files are small: what is beyond these is a mistake. */
const MAX_FILE = 64 << 20;
const MAX_FILES = 50_000;

/**
 * All files, or only the YAML ones, under `path` of a repository's directory, sorted by path. Links are not followed:
 * they could lead out of the repository, and a clone on another machine would see something else.
 * @throws FleetError SOURCE_MISSING, TOO_LARGE, TOO_MANY
 */
export const readFiles = async (
  root: string,
  path: string,
  which: 'yaml' | 'all',
  ignore: 'honour' | 'none',
  shown: string,
): Promise<readonly SourceFile[]> => {
  const rules = ignore === 'honour' ? await rulesDownTo(root, path) : [];
  const start = path === '.' ? root : join(root, path);
  const kind = await stat(start).catch(() => undefined);
  if (kind === undefined) {
    const all = path === '.' || (await stat(root).catch(() => undefined)) === undefined;
    throw new FleetError('SOURCE_MISSING', `there is no ${all ? 'directory' : `path ${path} in`} ${shown}`, {
      hint: 'Check the path',
    });
  }
  if (!(await liesWithin(root, start)))
    throw new FleetError('FIELD_INVALID', `the path ${path} leads out of ${shown}`, { subject: shown });
  const files: SourceFile[] = [];
  const inside = path === '.' ? '' : path;
  if (kind.isFile()) {
    const name = path.slice(path.lastIndexOf('/') + 1);
    return [{ path: name, bytes: await readCapped(start, join(shown, path)) }];
  }
  await walk({ root, shown, inside, which, ignore, files }, inside, rules);
  return files.toSorted((a, b) => compareBytes(a.path, b.path));
};

/** A link on the way to the folder may lead anywhere. */
const liesWithin = async (root: string, start: string): Promise<boolean> => {
  const [top, real] = await Promise.all([realpath(root), realpath(start)]);
  return real === top || real.startsWith(`${top}${sep}`);
};

type Walk = {
  readonly root: string;
  readonly shown: string;
  readonly inside: string;
  readonly which: 'yaml' | 'all';
  readonly ignore: 'honour' | 'none';
  readonly files: SourceFile[];
};

const walk = async (walking: Walk, folder: string, inherited: IgnoreRules): Promise<void> => {
  const entries = await readdir(join(walking.root, folder), { withFileTypes: true });
  const rules =
    folder === walking.inside || walking.ignore === 'none'
      ? inherited
      : [...inherited, ...(await rulesIn(walking.root, folder))];
  for (const entry of entries) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.name.includes('\ufffd')) {
      throw new FleetError('FIELD_INVALID', `a file name in ${join(walking.shown, folder)} is not UTF-8`, {
        hint: `Rename the file that shows as ${JSON.stringify(entry.name)}`,
      });
    }
    if (entry.name === '.git' || isIgnored(rules, path, entry.isDirectory())) continue;
    if (entry.isDirectory()) await walk(walking, path, rules);
    else if (entry.isFile() && (walking.which === 'all' || isYaml(entry))) {
      const relative = walking.inside === '' ? path : path.slice(walking.inside.length + 1);
      const bytes = await readCapped(join(walking.root, path), join(walking.shown, path));
      walking.files.push({ path: relative, bytes });
      if (walking.files.length > MAX_FILES)
        throw new FleetError('TOO_MANY', `${walking.shown} has more than ${MAX_FILES} files`);
    }
  }
};

const isYaml = (entry: Dirent): boolean => /\.ya?ml$/i.test(entry.name);

const readCapped = async (path: string, shown: string): Promise<Buffer> => {
  const { size } = await stat(path);
  if (size > MAX_FILE)
    throw new FleetError('TOO_LARGE', `${shown} has ${size} bytes, at most ${MAX_FILE} are read`);
  return await readFile(path);
};

/** The rules of the repository's root and of every folder down to `path` itself. */
const rulesDownTo = async (root: string, path: string): Promise<IgnoreRules> => {
  let rules = [...DEFAULT_IGNORES, ...(await rulesIn(root, ''))];
  if (path === '.') return rules;
  const names = path.split('/');
  for (const end of names.keys())
    rules = [...rules, ...(await rulesIn(root, names.slice(0, end + 1).join('/')))];
  return rules;
};

const rulesIn = async (root: string, folder: string): Promise<IgnoreRules> => {
  const text = await readFile(join(root, folder, '.sourceignore'), 'utf8').catch(() => '');
  return parseIgnore(text, folder);
};
