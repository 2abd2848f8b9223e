import { defined } from '#bundles/defined';
import { compareBytes } from '#bundles/digest';
import type { OwnedObject, Step } from '../../../model/target.ts';
import { ancestorsOf } from '../desired/ancestors-of.ts';
import type { Wanted, WantedDirectory } from '../desired/read-wanted.ts';
import { stopIfAborted } from '../host-error.ts';
import { type DirectoryDetail, note, toStep } from '../host-step.ts';
import { openFolder } from '../live/open-folder.ts';
import { NO_BYTES, readEntry } from '../live/read-entry.ts';
import { describeKept, keptBy } from '../owned/kept-mode.ts';
import {
  asJson,
  directoryKey,
  fileKey,
  keyOfDirectory,
  type OwnedDirectory,
  parentKey,
} from '../owned/owned-state.ts';
import { compareMeta, cannotReplace, notRoot, ownerOf, type Part, type PlanContext } from './plan-context.ts';

/** Every directory that the package needs: those that it lists and the parents of all its paths. */
export const wantedFolders = (wanted: Wanted | undefined): ReadonlySet<string> => {
  if (!wanted) return new Set();
  const described = wanted.directories.map(({ path }) => path);
  return new Set([
    ...described,
    ...[...described, ...wanted.files.keys(), ...wanted.secrets.keys()].flatMap(ancestorsOf),
  ]);
};

/** Plans directories from the top down. Missing parents that no package lists are created and then owned by the package. */
export const planDirectories = async (context: PlanContext, gone: ReadonlySet<string>): Promise<Part> => {
  const steps: Step[] = [];
  const owns: OwnedObject[] = [];
  const described = new Map(context.wanted?.directories.map((directory) => [directory.path, directory]));
  for (const path of [...wantedFolders(context.wanted)].toSorted(compareBytes)) {
    stopIfAborted(context.signal);
    const directory = described.get(path);
    const planned = directory
      ? await planDescribed(context, directory, gone)
      : await planParent(context, path, gone);
    if (planned.step) steps.push(planned.step);
    if (planned.own) owns.push({ key: keyOfDirectory(path, planned.own), state: asJson(planned.own) });
  }
  return { steps, owns };
};

type Planned = { readonly step?: Step; readonly own?: OwnedDirectory };

const planDescribed = async (
  context: PlanContext,
  directory: WantedDirectory,
  gone: ReadonlySet<string>,
): Promise<Planned> => {
  const { path } = directory;
  const key = directoryKey(path);
  const live = await lookAt(context, path, gone);
  const ids = ownerOf(context, directory);
  const detail: DirectoryDetail = {
    path,
    mode: directory.mode,
    owner: context.options.isRoot && ids ? ids : null,
  };
  const known = context.owned.directories.get(path);
  const kept = keptBy(known?.kept, directory.mode, live);
  const before = known && defined({ ...known, described: true, kept });
  if (live.type === 'missing') {
    const skipped = context.options.isRoot ? '' : `; ${notRoot(directory)}`;
    const step = toStep(key, 'created', `missing${skipped}`, { kind: 'directory', detail });
    return { step, own: before ?? { described: true, created: true } };
  }
  if (live.type !== 'directory') throw cannotReplace(path, typeName(live.type), 'a directory');
  const { differences, skipped } = compareMeta(context, directory, live, kept);
  const { mode, uid, gid } = live;
  const own = before ?? { described: true, created: false, replaced: { mode, uid, gid } };
  if (differences.length > 0)
    return { step: toStep(key, 'configured', differences.join(', '), { kind: 'directory', detail }), own };
  const asIs = ['as desired', ...describeKept(kept)].join('; ');
  return { step: skipped ? note(key, 'skipped', skipped) : note(key, 'unchanged', asIs), own };
};

const planParent = async (
  context: PlanContext,
  path: string,
  gone: ReadonlySet<string>,
): Promise<Planned> => {
  const key = parentKey(path);
  const known = context.owned.directories.get(path);
  const before = known && { ...known, described: false };
  const live = await lookAt(context, path, gone);
  if (live.type === 'missing') {
    const detail: DirectoryDetail = { path, mode: null, owner: null };
    const step = toStep(key, 'created', 'missing', { kind: 'directory', detail });
    const isTaken = context.taken.has(key) || context.taken.has(directoryKey(path));
    return isTaken ? { step } : { step, own: before ?? { described: false, created: true } };
  }
  if (live.type === 'link') {
    await using folder = await openFolder(context.options.root, path);
    if (!folder) throw cannotReplace(path, 'a link to a file', 'a directory');
  } else if (live.type !== 'directory') throw cannotReplace(path, typeName(live.type), 'a directory');
  return before ? { step: note(key, 'unchanged', 'as desired'), own: before } : {};
};

/** A file of ours that an earlier step removes counts as missing; one that existed before the package does not. */
const lookAt = async (context: PlanContext, path: string, gone: ReadonlySet<string>) => {
  const own = context.owned.files.get(path);
  const other = context.taken.get(fileKey(path));
  if (other !== undefined) throw cannotReplace(path, `a file of ${other}`, 'a directory');
  if (own?.replaced) throw cannotReplace(path, 'a file that was there before the package', 'a directory');
  return gone.has(path)
    ? ({ type: 'missing' } as const)
    : await readEntry(context.options.root, path, { maxBytes: NO_BYTES, signal: context.signal });
};

const typeName = (type: 'file' | 'link' | 'other'): string =>
  ({ file: 'a file', link: 'a symbolic link', other: 'a device, socket or pipe' })[type];
