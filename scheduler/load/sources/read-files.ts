import { type Dirent, lstatSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { join, sep } from 'node:path';
import { setImmediate } from 'node:timers/promises';
import { compareBytes } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import type { Spend } from '#bundles/json/pattern/linear';
import { type Bound, checkLimit } from '../../model/limits.ts';
import {
  DEFAULT_IGNORES,
  type IgnoreRules,
  isIgnored,
  MAX_RULES,
  parseIgnore,
  mayReinclude,
  tooMany,
} from './source-ignore.ts';

/** A file of a source; `path` is relative to the source's path. */
export type SourceFile = {
  readonly path: string;
  readonly bytes: Buffer;
  /** Changes by kustomizations to the objects in it, innermost first. */
  readonly changes?: readonly ObjectChange[];
};

/** The change that a kustomization makes to every object it lists. */
export type ObjectChange = {
  readonly namePrefix: string;
  readonly nameSuffix: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
};

/** A platform is written by hand, and an application's files are small: more is a mistake. */
const MAX_FILE = 64 << 20;
const MAX_FILES = 50_000;
/** Bytes of a `.sourceignore` with the most and longest patterns. */
const MAX_IGNORE_FILE = 1 << 20;
/** Upper bound on matching steps of all `.sourceignore` patterns for one repository: a few seconds. */
const MAX_IGNORE_STEPS = 20_000_000;

/**
 * Files read between two pauses, which takes a millisecond or two. Reads are synchronous: for small files the thread pool
 * takes ten times as long, and a build reads thousands.
 */
const PAUSE = 64;

/**
 * Reads all files, or only YAML, under `path` of a repository's directory, sorted by path. Links are not followed: they
 * could lead out of the repository, and would resolve differently on another machine.
 * @throws FleetError SOURCE_MISSING, FIELD_INVALID, TOO_LARGE, TOO_MANY, WORKSPACE_LIMIT
 */
export const readFiles = async (reading: ReadingFiles): Promise<readonly SourceFile[]> => {
  const { root, path, which, ignore, shown, bound, onLink } = reading;
  await setImmediate();
  const rules = ignore === 'honour' ? rulesDownTo(root, path, shown) : [];
  const start = path === '.' ? root : join(root, path);
  const kind = statOf(start);
  if (kind === undefined) {
    const all = path === '.' || statOf(root) === undefined;
    throw new FleetError('SOURCE_MISSING', `there is no ${all ? 'directory' : `path ${path} in`} ${shown}`, {
      hint: 'Check the path',
    });
  }
  if (!liesWithin(root, start))
    throw new FleetError('FIELD_INVALID', `the path ${path} leads out of ${shown}`, { subject: shown });
  const files: SourceFile[] = [];
  const meter: Meter = { bound, bytes: 0 };
  const inside = path === '.' ? '' : path;
  if (kind.isFile()) {
    const name = path.slice(path.lastIndexOf('/') + 1);
    return [{ path: name, bytes: readCapped(start, `${shown}/${path}`, meter) }];
  }
  const walking = { root, shown, inside, which, ignore, files, meter, onLink, spend: ignoreMeter(shown) };
  await walk(walking, inside, rules);
  return files.toSorted((a, b) => compareBytes(a.path, b.path));
};

/** Undefined for a path that does not exist or cannot be read. */
const statOf = (path: string): ReturnType<typeof statSync> => {
  try {
    return statSync(path, { throwIfNoEntry: false });
  } catch {
    return undefined;
  }
};

/** A link on the path to the folder may lead out of the root. */
const liesWithin = (root: string, start: string): boolean => {
  const [top, real] = [realpathSync.native(root), realpathSync.native(start)];
  return real === top || real.startsWith(`${top}${sep}`);
};

export type ReadingFiles = {
  readonly root: string;
  readonly path: string;
  readonly which: 'yaml' | 'all';
  readonly ignore: 'honour' | 'none';
  /** Name of the root in messages. */
  readonly shown: string;
  /** Limits, for a tenant's files. */
  readonly bound?: Bound | undefined;
  /** Called with the path in `root` of each link that would be read if it were a file or folder. */
  readonly onLink?: ((path: string) => void) | undefined;
};

/** Bytes read so far, for a tenant's limits. */
type Meter = { readonly bound: Bound | undefined; bytes: number };

type Walk = {
  readonly root: string;
  readonly shown: string;
  readonly inside: string;
  readonly which: 'yaml' | 'all';
  readonly ignore: 'honour' | 'none';
  readonly files: SourceFile[];
  readonly meter: Meter;
  readonly spend: Spend;
  readonly onLink: ReadingFiles['onLink'];
};

/** The returned function throws FleetError TOO_MANY when the steps are used up. */
const ignoreMeter = (shown: string): Spend => {
  let left = MAX_IGNORE_STEPS;
  return (steps) => {
    left -= steps;
    if (left < 0)
      throw new FleetError(
        'TOO_MANY',
        `the patterns of .sourceignore take more than ${MAX_IGNORE_STEPS} steps`,
        {
          subject: shown,
          hint: 'Write fewer patterns with wildcards, or leave whole folders out',
        },
      );
  };
};

const walk = async (walking: Walk, folder: string, inherited: IgnoreRules): Promise<void> => {
  const entries = readdirSync(join(walking.root, folder), { withFileTypes: true });
  const rules =
    folder === walking.inside || walking.ignore === 'none'
      ? inherited
      : withRulesIn(inherited, walking.root, folder, walking.shown);
  for (const entry of entries) {
    const path = folder === '' ? entry.name : `${folder}/${entry.name}`;
    if (entry.name.includes('\ufffd')) {
      throw new FleetError('FIELD_INVALID', `a file name in ${join(walking.shown, folder)} is not UTF-8`, {
        hint: `Rename the file that shows as ${JSON.stringify(entry.name)}`,
      });
    }
    const isFolder = entry.isDirectory();
    if (entry.name === '.git') continue;
    if (isIgnored(rules, path, isFolder, walking.spend) && !(isFolder && mayReinclude(rules))) continue;
    if (isFolder) await walk(walking, path, rules);
    else if (entry.isSymbolicLink()) noteLink(walking, entry, path);
    else if (entry.isFile() && isRead(walking, entry)) await addFile(walking, path);
  }
};

const isRead = ({ which }: Walk, entry: Dirent): boolean => which === 'all' || isYaml(entry);

/** A link without an extension may be one to a folder. */
const noteLink = (walking: Walk, entry: Dirent, path: string): void => {
  if (isRead(walking, entry) || !entry.name.includes('.')) walking.onLink?.(path);
};

/** @throws FleetError TOO_LARGE, TOO_MANY, WORKSPACE_LIMIT */
const addFile = async ({ root, shown, inside, meter, files }: Walk, path: string): Promise<void> => {
  const relative = inside === '' ? path : path.slice(inside.length + 1);
  files.push({ path: relative, bytes: readCapped(join(root, path), `${shown}/${path}`, meter) });
  if (files.length % PAUSE === 0) await setImmediate();
  if (files.length > MAX_FILES) throw new FleetError('TOO_MANY', `${shown} has more than ${MAX_FILES} files`);
};

/** Kustomize also accepts a file without an extension. */
const isYaml = (entry: Dirent): boolean => /\.ya?ml$/i.test(entry.name) || entry.name === 'Kustomization';

const readCapped = (path: string, shown: string, meter: Meter): Buffer => {
  const { size } = statSync(path);
  const { bound } = meter;
  meter.bytes += size;
  if (bound) {
    checkLimit(bound, 'fileBytes', size, shown);
    checkLimit(bound, 'assignmentBytes', meter.bytes, 'all files');
    return readFileSync(path);
  }
  if (size > MAX_FILE)
    throw new FleetError('TOO_LARGE', `this file has ${size} bytes, at most ${MAX_FILE} are read`, {
      at: { file: shown },
      hint: 'Move it out of the repository, or name it in a .sourceignore; url: in a HostPackage brings files of up to 64 GiB',
    });
  return readFileSync(path);
};

/** The rules of the repository's root and of every folder down to `path`. */
const rulesDownTo = (root: string, path: string, shown: string): IgnoreRules => {
  const names = path === '.' ? [] : path.split('/');
  const folders = ['', ...names.map((_, end) => names.slice(0, end + 1).join('/'))];
  // `path` may be a file.
  const within = folders.filter((folder) => statOf(join(root, folder))?.isDirectory());
  return within.reduce((rules, folder) => withRulesIn(rules, root, folder, shown), DEFAULT_IGNORES);
};

/**
 * Whether `.sourceignore` of the repository hides a file that is not there yet. @param shown name of the root in messages
 * @throws FleetError FIELD_INVALID, TOO_LARGE, TOO_MANY
 */
export const isHidden = (root: string, file: string, shown: string): boolean => {
  const parts = file.split('/');
  const rules = rulesDownTo(root, parts.slice(0, -1).join('/') || '.', shown);
  const spend = ignoreMeter(shown);
  return parts.some((_, end) =>
    isIgnored(rules, parts.slice(0, end + 1).join('/'), end < parts.length - 1, spend),
  );
};

/** @throws FleetError FIELD_INVALID, TOO_LARGE, TOO_MANY */
const withRulesIn = (inherited: IgnoreRules, root: string, folder: string, shown: string): IgnoreRules => {
  const path = join(root, folder, '.sourceignore');
  const entry = lstatSync(path, { throwIfNoEntry: false });
  // Links are not followed here either: one could lead out of the repository, or to a FIFO that blocks.
  if (!entry?.isFile()) return inherited;
  const name = join(shown, folder, '.sourceignore');
  if (entry.size > MAX_IGNORE_FILE)
    throw new FleetError(
      'TOO_LARGE',
      `this file has ${entry.size} bytes, at most ${MAX_IGNORE_FILE} are read`,
      {
        at: { file: name },
      },
    );
  const rules = [...inherited, ...parseIgnore(readFileSync(path, 'utf8'), folder, name)];
  if (rules.length > MAX_RULES) throw tooMany(rules.length, name);
  return rules;
};
