import { readdir } from 'node:fs/promises';
import { posix } from 'node:path';
import { compareBytes } from '#bundles/digest';
import type { Step } from '../../../model/target.ts';
import { ancestorsOf } from '../desired/ancestors-of.ts';
import { hostError, stopIfAborted } from '../host-error.ts';
import { note, toStep } from '../host-step.ts';
import { isRestored } from '../owned/is-restored.ts';
import { openFolder } from '../live/open-folder.ts';
import { type Entry, NO_BYTES, readEntry } from '../live/read-entry.ts';
import {
  directoryKey,
  fileKey,
  keyOfDirectory,
  type OwnedDirectory,
  type OwnedFile,
  parentKey,
  secretKey,
} from '../owned/owned-state.ts';
import type { PlanContext } from './plan-context.ts';
import { isElsewhere } from './plan-files.ts';
import { temporaryName } from '../live/temporary-name.ts';

/** `early`: an entry of another type replaces it, so it is removed before that is created. */
export type Removal = {
  readonly path: string;
  readonly early: boolean;
  /** True if the content at the path changes, which affects units that watch it. */
  readonly changes: boolean;
  readonly step: (outdates: readonly string[]) => Step;
};

export type Removals = {
  readonly list: readonly Removal[];
  /** Paths that will be missing after the plan. */
  readonly gone: ReadonlySet<string>;
};

/** Plans the removal of owned entries that the package no longer lists: files in order, then directories from the deepest. */
export const planRemovals = async (
  context: PlanContext,
  wantedFolders: ReadonlySet<string>,
): Promise<Removals> => {
  const { owned, wanted } = context;
  const gone = new Set<string>();
  const list: Removal[] = [];
  const isEarly = (path: string) =>
    wantedFolders.has(path) ||
    [...ancestorsOf(path), path].some(
      (above) => wanted?.files.has(above) === true || wanted?.secrets.has(above) === true,
    );

  const files = [...owned.files].filter(([path]) => wanted?.files.has(path) !== true);
  for (const [path, own] of files.toSorted(([a], [b]) => compareBytes(a, b))) {
    stopIfAborted(context.signal);
    const removal = await planFileRemoval(context, path, own);
    if (removal.gone) gone.add(path);
    list.push({ path, early: isEarly(path), changes: removal.changes, step: removal.step });
  }
  for (const path of [...owned.secrets]
    .filter((one) => wanted?.secrets.has(one) !== true)
    .toSorted(compareBytes)) {
    stopIfAborted(context.signal);
    const removal = await planSecretRemoval(context, path);
    if (removal.gone) gone.add(path);
    list.push({ path, early: isEarly(path), changes: removal.changes, step: removal.step });
  }
  const folders = [...owned.directories].filter(([path]) => !wantedFolders.has(path));
  for (const [path, own] of folders.toSorted(([a], [b]) => compareBytes(b, a))) {
    stopIfAborted(context.signal);
    const removal = await planFolderRemoval(context, path, own, gone);
    if (removal.gone) gone.add(path);
    list.push({ path, early: isEarly(path), changes: false, step: removal.step });
  }
  return { list, gone };
};

type One = Pick<Removal, 'changes' | 'step'> & { readonly gone: boolean };

const listed = (step: Step, gone: boolean): One => ({ changes: false, gone, step: () => step });

const planFileRemoval = async (context: PlanContext, path: string, own: OwnedFile): Promise<One> => {
  const key = fileKey(path);
  const other = context.taken.get(key);
  if (other !== undefined) return listed(note(key, 'unchanged', `now belongs to ${other}`), false);
  const { options, signal } = context;
  const maxBytes = Math.max(own.largest ?? 0, options.maxBackupBytes);
  const live = await readEntry(options.root, path, { maxBytes, signal });
  const ours = [own.digest, ...own.previous];
  if (isElsewhere(own, live) && live.type !== 'missing')
    return listed(
      note(key, 'skipped', 'its path leads to another entry now, which is not of the package'),
      false,
    );
  const replaced = (isElsewhere(own, live) ? undefined : own.replaced) ?? null;
  if (live.type === 'directory' || live.type === 'other')
    return listed(note(key, 'skipped', `it is ${describeEntry(live)} now, which is not ours`), false);
  if (!live.leftover) {
    if (replaced && isRestored(live, replaced, context.options.isRoot))
      return listed(note(key, 'skipped', 'the state from before the package is already there'), false);
    if (live.type === 'missing' && !replaced)
      return listed(note(key, 'unchanged', 'it is gone already'), true);
  }
  const changed =
    live.type === 'link' || (live.type === 'file' && (live.digest === null || !ours.includes(live.digest)));
  const why = [
    replaced ? 'the state before the package is restored' : 'no longer in the package',
    ...(changed ? ['it was changed since it was written'] : []),
  ].join('; ');
  return {
    changes: true,
    gone: replaced === null,
    step: (outdates) =>
      toStep(key, replaced ? 'configured' : 'deleted', why, {
        kind: 'file-removal',
        detail: { path, ours, largest: own.largest ?? 0, replaced, outdates },
      }),
  };
};

/** Removes a file of a secret without a copy, which would be a copy of a secret. */
const planSecretRemoval = async (context: PlanContext, path: string): Promise<One> => {
  const key = secretKey(path);
  const other = context.taken.get(key);
  if (other !== undefined) return listed(note(key, 'unchanged', `now belongs to ${other}`), false);
  const live = await lookAt(context, path);
  if (live.type === 'directory' || live.type === 'other')
    return listed(note(key, 'skipped', `it is ${describeEntry(live)} now, which is not ours`), false);
  if (live.type === 'missing' && !live.leftover)
    return listed(note(key, 'unchanged', 'it is gone already'), true);
  return {
    changes: true,
    gone: true,
    step: (outdates) =>
      toStep(key, 'deleted', 'no longer in the package', {
        kind: 'secret-removal',
        detail: { path, outdates },
      }),
  };
};

/** The live type of an entry, for messages. */
const lookAt = ({ options, signal }: PlanContext, path: string): Promise<Entry> =>
  readEntry(options.root, path, { maxBytes: NO_BYTES, signal });

const describeEntry = (live: Entry): string =>
  live.type === 'directory' ? 'a directory' : 'not a plain file';

const planFolderRemoval = async (
  context: PlanContext,
  path: string,
  own: OwnedDirectory,
  gone: ReadonlySet<string>,
): Promise<One> => {
  const key = keyOfDirectory(path, own);
  const other = context.taken.get(directoryKey(path)) ?? context.taken.get(parentKey(path));
  if (other !== undefined) return listed(note(key, 'unchanged', `now belongs to ${other}`), false);
  const live = await lookAt(context, path);
  if (live.type === 'missing') return listed(note(key, 'unchanged', 'it is gone already'), true);
  if (live.type !== 'directory')
    return listed(note(key, 'skipped', 'it is no longer a directory, so the agent leaves it'), false);
  const act = (outcome: 'deleted' | 'configured', reason: string): One => ({
    changes: false,
    gone: outcome === 'deleted',
    step: () => toStep(key, outcome, reason, { kind: 'directory-removal', detail: { path, ...own } }),
  });
  if (own.created) {
    const names = await namesIn(context.options.root, path);
    const kept = names.filter((name) => !gone.has(posix.join(path, name)) && !isLeftover(name, path, gone));
    if (kept.length === 0) return act('deleted', 'no longer in the package');
    const owners = kept.map((name) => ownerBelow(context, posix.join(path, name)));
    return owners.includes(undefined)
      ? listed(note(key, 'skipped', 'not empty: it holds what the package does not own'), false)
      : listed(note(key, 'unchanged', `holds files of ${[...new Set(owners)].join(', ')}`), false);
  }
  const { replaced } = own;
  const isUnchanged =
    !replaced ||
    (live.mode === replaced.mode && live.uid === replaced.uid && live.gid === replaced.gid) ||
    (!context.options.isRoot && live.mode === replaced.mode);
  return isUnchanged
    ? listed(note(key, 'skipped', 'it was there before the package'), false)
    : act('configured', 'mode and owner from before the package are restored');
};

/** True for the temporary file of an interrupted write to a file that is removed; it is removed with the file. */
const isLeftover = (name: string, folder: string, gone: ReadonlySet<string>): boolean =>
  name.startsWith('.fleet-') &&
  [...gone].some((path) => posix.dirname(path) === folder && temporaryName(posix.basename(path)) === name);

/** The package that owns an entry at a path or below it. */
const ownerBelow = ({ taken }: PlanContext, path: string): string | undefined =>
  [...taken].find(([key]) => `${key.slice(key.indexOf(':') + 1)}/`.startsWith(`${path}/`))?.[1];

const namesIn = async (root: string, path: string): Promise<readonly string[]> => {
  await using folder = await openFolder(root, path);
  try {
    return folder ? await readdir(folder.at('.')) : [];
  } catch (error) {
    throw hostError(error, `reading the directory ${path}`);
  }
};
