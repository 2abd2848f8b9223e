import type { Prepared } from '../prepare.ts';
import { findLayout, refuseFullVolume, volumeOf } from './find-layout.ts';
import { type SetSizes, estimateSetSizes } from './set-layout.ts';
import { limitsFor, type RequestedLimits } from './set-limits.ts';
import { readLists } from '../medium/volume-lists.ts';
import type { WorkOptions } from '../work-options.ts';
import { bytesOfVolume } from './bytes-of-volume.ts';
import type { BytesToWrite } from '../bytes-to-write.ts';
import type { SetLimits } from './cut-set.ts';
import { volumeSize } from '../allocate-parts.ts';
import { patchesInParts } from './patches-in-parts.ts';

/** The assignment of parts to volumes. Sizes in bytes. */
export type SetPlan = {
  readonly partSize: number;
  readonly sealed: boolean;
  readonly sticks: readonly (BytesToWrite & {
    readonly stick: number;
    /** Its mount point, if it is mounted. */
    readonly at: string | undefined;
    readonly holds: number;
    /** The parts on this volume. */
    readonly bytes: number;
    readonly parts: readonly { readonly number: number; readonly size: number; readonly blobs: number }[];
  })[];
};

/**
 * Computes the parts that create would write, from sizes and the free space of the volumes. Large blobs are read only if a set is already
 * there, to compare digests. @throws FleetError USAGE for parts or volumes that are too small; DISK_FULL
 */
export const planSet = async (
  whole: Pick<Prepared, 'plan' | 'source' | 'targets' | 'seal'>,
  requested: RequestedLimits,
  options: WorkOptions,
): Promise<SetPlan> => {
  const prepared = { ...whole, plan: patchesInParts(whole.plan) };
  const { plan, targets, seal } = prepared;
  const roots = targets.map(({ path }) => path);
  const lists = await Promise.all(roots.map((root) => readLists(root)));
  const sizes = lists.some(({ done, begun }) => done ?? begun)
    ? await findLayout(prepared, roots, requested, { ...options, seal })
    : await refuseFullVolume(plan, roots, requested, async () =>
        estimateSetSizes(plan, (await limitsFor(requested, roots)).at(-1) as SetLimits, seal),
      );
  const places = await placesOf(sizes, roots);
  const { limits } = sizes;
  return {
    partSize: limits.partSize,
    sealed: sizes.sealed,
    sticks: await Promise.all(
      places.map(async (at, index) => {
        const parts = sizes.parts.filter(({ stick }) => stick === index + 1);
        return {
          stick: index + 1,
          at,
          holds: volumeSize(limits.sticks, index + 1),
          bytes: sum(parts),
          ...(await bytesOfVolume(plan, sizes, parts, at)),
          parts: parts.map(({ number, size, files }) => ({ number, size, blobs: files.length })),
        };
      }),
    ),
  };
};

/** The mount point of each volume. A volume with content of the set is recognised at any mount point. */
const placesOf = async (
  { set, parts, sticks }: SetSizes,
  roots: readonly string[],
): Promise<readonly (string | undefined)[]> => {
  const known = await Promise.all(roots.map((root) => volumeOf(root, set, parts)));
  const free = roots.filter((_, at) => known[at] === undefined);
  return Array.from({ length: sticks }, (_, at) => {
    const begun = known.indexOf(at + 1);
    return begun >= 0 ? roots[begun] : free.shift();
  });
};

const sum = (parts: readonly { readonly size: number }[]): number =>
  parts.reduce((total, { size }) => total + size, 0);
