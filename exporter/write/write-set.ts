import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { defined } from '#bundles/defined';
import type { Digest } from '#bundles/digest';
import { FleetError } from '#bundles/errors';
import { partPath } from '#bundles/formats/medium/parts/part';
import { formatBytes } from '#cli/format-bytes';
import { bytesOfVolume } from '../plan/set/bytes-of-volume.ts';
import { patchesInParts } from '../plan/set/patches-in-parts.ts';
import type { Prepared } from '../plan/prepare.ts';
import { oneAhead } from '../source/one-ahead.ts';
import { findLayout, volumeOf } from '../plan/set/find-layout.ts';
import { checkFreeSpace, largestFile } from '../plan/medium/free-space.ts';
import { LOCK } from '../plan/medium/lock-file.ts';
import { whileLocked } from './lock-medium.ts';
import { openPieces } from './piece-reader.ts';
import { releaseBefore } from './release-before.ts';
import type { SetLayout } from '../plan/set/set-layout.ts';
import type { RequestedLimits } from '../plan/set/set-limits.ts';
import { writeLooseParts } from './write-loose-parts.ts';
import type { WriteOptions, Written } from './write-options.ts';
import type { SetContent, WrittenPart } from './write-set-part.ts';
import { writeVolume } from './write-volume.ts';

/** The part of a set to write now; default: all. */
export type SetRequest = RequestedLimits & {
  /** Only the volume of the set with this number, from 1, to the given target. */
  readonly stick?: number | undefined;
  /** Only these parts, as files into the given folder. */
  readonly parts?: readonly number[] | undefined;
  /** Asks a person for the next volume at the same mount point; undefined: not interactive. */
  readonly askForVolume?: ((next: NextVolume) => Promise<void>) | undefined;
  /** Called when a volume is complete. */
  readonly onVolume?: ((done: DoneVolume) => void) | undefined;
};

export type DoneVolume = {
  readonly stick: number;
  readonly sticks: number;
  readonly at: string;
  readonly numbers: readonly number[];
};

export type NextVolume = {
  readonly stick: number;
  readonly sticks: number;
  readonly at: string;
  readonly bytes: number;
  /** Why the mounted volume is not accepted. */
  readonly because?: string;
};

export type WrittenSet = Written & {
  readonly set: Digest;
  readonly sealed: boolean;
  readonly count: number;
  readonly sticks: number;
  readonly partSize: number;
  /** Capacity of each volume in bytes, the last for all further ones; empty if everything fits one volume. */
  readonly stickSizes: readonly number[];
  /** The mounted volumes by path. */
  readonly parts: readonly WrittenPart[];
};

/** @throws FleetError USAGE if volumes are missing; DISK_FULL, PERMISSION, IO, MEDIUM_INVALID, MISSING_BLOB, DIGEST_MISMATCH, SIZE_MISMATCH */
export const writeSet = async (
  whole: Prepared,
  order: SetRequest,
  options: WriteOptions,
): Promise<WrittenSet> => {
  const prepared = { ...whole, plan: patchesInParts(whole.plan) };
  const { plan, source } = prepared;
  const roots = prepared.targets.map(({ path }) => path);
  for (const root of roots) await checkPartSize(root, order);
  const layout = await findLayout(prepared, roots, order, options);
  await using ahead = oneAhead(
    source,
    layout.parts.flatMap(({ files }) => files.map(({ blob }) => blob)),
  );
  await using pieces = openPieces(ahead.source, options.signal);
  const content: SetContent = { plan, source: ahead.source, layout, pieces };
  const said = {
    set: layout.set,
    sealed: layout.sealed,
    count: layout.parts.length,
    sticks: layout.sticks,
    partSize: layout.limits.partSize,
    stickSizes: layout.limits.sticks.filter((size) => size < Number.MAX_SAFE_INTEGER),
  };
  if (order.parts) {
    const done = await writeLooseParts(roots[0] ?? '', content, order.parts, options);
    return { ...said, ...done };
  }
  const written: WrittenSet[] = [];
  const places = await placesFor(layout, roots, order);
  // Checks all mounted volumes before the first is written, which may take an hour.
  if (roots.length > 1)
    for (const { stick, root } of places) {
      const own = layout.parts.filter((part) => part.stick === stick);
      await checkFreeSpace(root, (await bytesOfVolume(plan, layout, own, root)).toWrite);
    }
  for (const { stick, root } of places) {
    if (written.length > 0 && roots.length === 1) await changeVolume(prepared, layout, root, stick, order);
    const own = layout.parts.filter((part) => part.stick === stick);
    const done = await whileLocked(join(root, 'fleet', LOCK), root, (lock) =>
      writeVolume(root, content, own, { ...options, lock }),
    );
    await releaseBefore({
      before: prepared.targets.find(({ path }) => path === root)?.before,
      path: root,
      form: 'directory',
    });
    const parts = own.map(({ number, size }) => ({
      number,
      stick,
      path: join(root, partPath(layout.set, number, layout.sealed)),
      size,
    }));
    written.push({ ...said, ...done, parts });
    order.onVolume?.({ stick, sticks: layout.sticks, at: root, numbers: own.map(({ number }) => number) });
  }
  return {
    ...said,
    written: written.reduce((total, one) => total + one.written, 0),
    removed: written.reduce((total, one) => total + one.removed, 0),
    parts: written.flatMap(({ parts }) => parts),
  };
};

type Place = { readonly stick: number; readonly root: string };

/** Assigns volumes of the set to mount points. A volume with content of the set is continued at any mount point. */
const placesFor = async (
  { set, sticks, parts }: SetLayout,
  roots: readonly string[],
  { stick, askForVolume }: SetRequest,
): Promise<readonly Place[]> => {
  const [first = ''] = roots;
  if (stick !== undefined) {
    if (roots.length > 1) throw new FleetError('USAGE', '--stick takes one --to, where that stick is');
    if (stick > sticks)
      throw new FleetError('USAGE', `there is no stick ${stick}: the set goes on ${sticks}`, {
        hint: `Give --stick 1 to --stick ${sticks}; fleet-export plan shows which part goes where`,
      });
    const there = await volumeOf(first, set, parts);
    if (there === undefined || there === stick) return [{ stick, root: first }];
    throw new FleetError('USAGE', `${first} is stick ${there} of this set, not stick ${stick}`, {
      hint: `Plug in stick ${stick}`,
    });
  }
  if (roots.length === 1) {
    if (sticks === 1) return [{ stick: 1, root: first }];
    if (!askForVolume) throw tooFew(sticks, parts, roots);
    const begun = (await volumeOf(first, set, parts)) ?? 1;
    return Array.from({ length: sticks - begun + 1 }, (_, at) => ({ stick: begun + at, root: first }));
  }
  if (sticks > roots.length) throw tooFew(sticks, parts, roots);
  const known = await Promise.all(roots.map((root) => volumeOf(root, set, parts)));
  const free = roots.filter((_, at) => known[at] === undefined);
  return Array.from({ length: sticks }, (_, at) => at + 1).flatMap((number) => {
    const at = known.indexOf(number);
    const root = at >= 0 ? roots[at] : free.shift();
    return root === undefined ? [] : [{ stick: number, root }];
  });
};

const tooFew = (sticks: number, parts: SetLayout['parts'], roots: readonly string[]): FleetError => {
  const total = parts.reduce((sum, { size }) => sum + size, 0);
  return new FleetError(
    'USAGE',
    `${formatBytes(total)} in ${parts.length} parts need ${sticks} sticks, ${roots.length === 1 ? `${roots[0]} is one` : `--to names ${roots.length}`}`,
    {
      hint: `Give --to ${sticks} times, or write one after the other with --stick 1 to --stick ${sticks}; fleet-export plan shows which part goes where`,
    },
  );
};

/** Waits for a volume other than the last one and examines it like the first. */
const changeVolume = async (
  prepared: Prepared,
  { set, sticks, parts }: SetLayout,
  root: string,
  stick: number,
  { askForVolume }: SetRequest,
): Promise<void> => {
  const bytes = parts.filter((part) => part.stick === stick).reduce((sum, { size }) => sum + size, 0);
  for (let because: string | undefined; ; ) {
    await askForVolume?.(defined({ stick, sticks, at: root, bytes, because }));
    try {
      const there = await stat(root).catch(() => undefined);
      const is = there && (await volumeOf(root, set, parts));
      if (!there) because = `there is nothing at ${root}`;
      else if (is !== undefined && is !== stick) because = `this is stick ${is}`;
      else {
        await prepared.checkVolume(root);
        await checkFreeSpace(root, is === stick ? 0 : bytes);
        return;
      }
    } catch (error) {
      if (!(error instanceof FleetError) || error.code === 'ABORTED') throw error;
      because = error.message;
    }
  }
};

/** @throws FleetError USAGE */
const checkPartSize = async (root: string, { partSize }: SetRequest): Promise<void> => {
  const most = await largestFile(root).catch(() => Number.MAX_SAFE_INTEGER);
  if (partSize === undefined || partSize <= most) return;
  throw new FleetError('USAGE', `${root} cannot hold a file of ${formatBytes(partSize)}: it is FAT32`, {
    hint: `Omit --part-size, or set it to at most ${most}`,
  });
};
