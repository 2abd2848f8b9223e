import { defined } from '#bundles/defined';
import type { Digest } from '#bundles/digest';
import type { OwnedObject, Step } from '../../../model/target.ts';
import { hasBackup } from '../backups/open-backup.ts';
import type { WantedFile } from '../desired/read-wanted.ts';
import { stopIfAborted } from '../host-error.ts';
import { type FileDetail, note, toStep } from '../host-step.ts';
import { type Entry, entryReader } from '../live/read-entry.ts';
import { describeKept, keptBy } from '../owned/kept-mode.ts';
import { asJson, fileKey, type OwnedFile, type Replaced, snapshot } from '../owned/owned-state.ts';
import { compareMeta, cannotReplace, nameOf, notRoot, ownerOf, type PlanContext } from './plan-context.ts';

export type FileChange = {
  readonly path: string;
  /** True if a unit that watches the file has to be restarted. */
  readonly changes: boolean;
  readonly step: (outdates: readonly string[]) => Step;
};

export type FilePlan = {
  readonly list: readonly FileChange[];
  readonly owns: readonly OwnedObject[];
  /** Files that were already identical to the package's before the first apply. */
  readonly found: ReadonlySet<string>;
};

/** Compares every file with its live entry: type, content, mode and owner. */
export const planFiles = async (all: PlanContext, gone: ReadonlySet<string>): Promise<FilePlan> => {
  const list: FileChange[] = [];
  const owns: OwnedObject[] = [];
  const found = new Set<string>();
  await using reader = entryReader(all.options.root, all.signal);
  for (const file of all.wanted?.files.values() ?? []) {
    stopIfAborted(all.signal);
    const live: Entry = gone.has(file.path)
      ? { type: 'missing', leftover: false }
      : await reader.read(file.path, bytesToRead(all, file));
    const context = isElsewhere(all.owned.files.get(file.path), live) ? without(all, file.path) : all;
    const owned = await ownedAfter(context, file, live);
    owns.push({ key: fileKey(file.path), state: asJson(owned) });
    if (owned.provisional) found.add(file.path);
    const takeover = await takeoverOf(context, file, live, owned);
    list.push({ path: file.path, ...planFile(context, file, live, takeover) });
  }
  return { list, owns, found };
};

/** True if the recorded name leads to another place since, where the entry is not ours: what was there before stayed at the old one. */
export const isElsewhere = (own: OwnedFile | undefined, live: Entry): boolean =>
  own?.moved === true && !isOneOf(live, [own.digest, ...own.previous]);

const without = (context: PlanContext, path: string): PlanContext => ({
  ...context,
  owned: { ...context.owned, files: new Map([...context.owned.files].filter(([one]) => one !== path)) },
});

/** The largest size of our own content and of copies. A larger file is neither and need not be hashed. */
const bytesToRead = ({ owned, options }: PlanContext, { path, size }: WantedFile): number =>
  Math.max(size, owned.files.get(path)?.largest ?? 0, options.maxBackupBytes);

/**
 * uncopied: an earlier run was killed after it wrote the inventory and before it made the copy. The live file is then still the one
 * from before the package, even if its bytes are equal.
 * putsBack: as in FileDetail.
 */
type Takeover = { readonly uncopied: boolean; readonly putsBack: Digest | null | undefined };

const takeoverOf = async (
  context: PlanContext,
  file: WantedFile,
  live: Entry,
  owned: OwnedFile,
): Promise<Takeover> => {
  const before = context.owned.files.get(file.path);
  const known = before?.replaced?.type === 'file' ? before.replaced.digest : undefined;
  const uncopied = known !== undefined && digestOfFile(live) === known;
  // The live content is ours, so the copy was made.
  const written = !before || live.type !== 'file' || isOneOf(live, [before.digest, ...before.previous]);
  const isCutShort =
    known !== undefined && (uncopied || !written) && !(await hasBackup(context.options.backups, known));
  const digest = owned.replaced?.type === 'file' ? owned.replaced.digest : null;
  return { uncopied: uncopied && isCutShort, putsBack: before && !isCutShort ? undefined : digest };
};

/** @throws FleetError APPLY_FAILED for an entry that no file may replace */
function refuseToReplace(
  { path }: WantedFile,
  live: Entry,
): asserts live is Exclude<Entry, { type: 'directory' | 'other' }> {
  if (live.type === 'directory') throw cannotReplace(path, 'a directory', 'a file');
  if (live.type === 'other') throw cannotReplace(path, 'a device, socket or pipe', 'a file');
}

const planFile = (
  context: PlanContext,
  file: WantedFile,
  live: Entry,
  { uncopied, putsBack }: Takeover,
): Omit<FileChange, 'path'> => {
  refuseToReplace(file, live);
  const key = fileKey(file.path);
  const before = context.owned.files.get(file.path);
  const found = !before && isFound(context, file, live);
  // The same content existed before the package with another mode or owner: a copy is kept for the removal of the package.
  const isUnchanged = ((!before && !found) || uncopied) && digestOfFile(live) === file.digest;
  const detail = detailOf(context, file, putsBack, isUnchanged || uncopied ? digestOfFile(live) : null);
  const act = (outcome: 'created' | 'configured', reasons: readonly string[], changes = true) => ({
    changes,
    step: (outdates: readonly string[]) =>
      toStep(key, outcome, reasons.join('; '), { kind: 'file', detail: { ...detail, outdates } }),
  });
  const unowned = context.options.isRoot ? [] : [notRoot(file)];

  if (live.type === 'missing') return act('created', ['missing', ...unowned]);
  const changed = isOneOf(live, detail.ours) ? [] : ['it was changed since it was written'];
  const origin = before ? changed : ['it was there before the package'];
  if (live.type === 'link') return act('configured', ['it is a symbolic link', ...origin, ...unowned]);

  const kept = keptBy(before?.kept, file.mode, live);
  const { differences, skipped } = compareMeta(context, file, live, kept);
  const owner = skipped === undefined ? [] : [skipped];
  const differs = live.digest === file.digest ? differences : ['content differs', ...differences, ...origin];
  if (differs.length > 0) return act('configured', [...differs, ...owner]);
  const recorded = whyRecorded(isUnchanged, live.leftover);
  if (recorded !== undefined) return act('configured', [recorded, ...owner], false);
  const asIs = [found ? 'taken over as it is' : 'as desired', ...describeKept(kept)].join('; ');
  const step = skipped ? note(key, 'skipped', skipped) : note(key, 'unchanged', asIs);
  return { changes: false, step: () => step };
};

/** Why a file that is as desired is written again, for the record alone; undefined if it is not. */
const whyRecorded = (isUnchanged: boolean, hasLeftover: boolean): string | undefined => {
  if (isUnchanged) return 'taken over as it is';
  return hasLeftover ? 'remains of an interrupted write' : undefined;
};

/** Content, mode and owner that the step writes. @param foreign digest of a live file that is not the package's, although the package may know it */
const detailOf = (
  context: PlanContext,
  file: WantedFile,
  putsBack: Takeover['putsBack'],
  foreign: Digest | null,
): Omit<FileDetail, 'outdates'> => {
  const before = context.owned.files.get(file.path);
  const known = before ? [before.digest, ...before.previous] : [];
  const owner = ownerOf(context, file);
  return {
    path: file.path,
    ...nameOf(file),
    largest: Math.max(file.size, before?.largest ?? 0),
    ...defined({ putsBack }),
    digest: file.digest,
    mode: file.mode,
    owner: context.options.isRoot && owner ? owner : null,
    ours: [...known, file.digest].filter((digest) => digest !== foreign),
  };
};

/** True if the entry equals the package's before the first apply. */
const isFound = (context: PlanContext, file: WantedFile, live: Entry): boolean =>
  live.type === 'file' &&
  live.digest === file.digest &&
  compareMeta(context, file, live).differences.length === 0;

const digestOfFile = (live: Entry): Digest | null => (live.type === 'file' ? live.digest : null);

const isOneOf = (live: Entry, digests: readonly Digest[]): boolean => {
  const digest = digestOfFile(live);
  return digest !== null && digests.includes(digest);
};

/** The state to store before the first write. */
const ownedAfter = async (context: PlanContext, file: WantedFile, live: Entry): Promise<OwnedFile> => {
  const before = context.owned.files.get(file.path);
  const ours = before ? [before.digest, ...before.previous] : [];
  const replaced = await replacedBy(context, before, ours, live);
  const digest = digestOfFile(live);
  const found = before ? before.provisional !== undefined : isFound(context, file, live);
  return {
    digest: file.digest,
    ...nameOf(file),
    largest: Math.max(file.size, isOneOf(live, ours) && live.type === 'file' ? live.size : 0),
    // Until the step is done the old content stays, and must still be known as ours.
    previous: digest !== null && ours.includes(digest) && digest !== file.digest ? [digest] : [],
    ...(replaced && (found ? { provisional: { replaced } } : { replaced })),
    ...defined({ kept: keptBy(before?.kept, file.mode, live) }),
  };
};

/**
 * The entry before the package is kept over all versions of the package. Only if the first plan was interrupted before the copy was
 * made and the file changed meanwhile, the newer file replaces it.
 */
const replacedBy = async (
  context: PlanContext,
  before: OwnedFile | undefined,
  ours: readonly Digest[],
  live: Entry,
): Promise<Replaced | null | undefined> => {
  if (!before) return snapshot(live);
  const known = before.replaced;
  if (known?.type !== 'file' || live.type !== 'file') return known;
  if (live.digest === known.digest || isOneOf(live, ours) || ours.includes(known.digest)) return known;
  return (await hasBackup(context.options.backups, known.digest)) ? known : snapshot(live);
};
