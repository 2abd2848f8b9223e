import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { compareBytes, type Digest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import type { OpenOptions } from '#bundles/formats/medium/medium';
import { parsePartName } from '#bundles/formats/medium/parts/part';
import { openForInspection } from '../../verify/inspect/open-for-inspection.ts';
import { type ArchivedMedium, readArchived } from './archived-medium.ts';
import type { Leftover, Leftovers } from './leftover.ts';
import { namesIn } from '#bundles/formats/medium/names-in';

export type ArchiveRequest = {
  readonly folder: string;
  /** Number of media to keep for each combination of sites and channels. */
  readonly keep: number;
  readonly pinned: Digest | undefined;
  readonly open: OpenOptions;
};

/** A medium and its files: one tar, or the parts of a set. */
type Found = { readonly names: readonly string[]; readonly medium: ArchivedMedium };

/**
 * Finds media of an archive folder that newer ones replace: tars and parts of one fleet, directly in the folder. The base of a delta that
 * is kept is kept as well. @throws FleetError MEDIUM_MISSING, WRONG_FLEET for media of several fleets without a root
 */
export const findOldMedia = async (order: ArchiveRequest): Promise<Leftovers> => {
  const { folder, keep } = order;
  const notes: string[] = [];
  const found = await readAll(order, notes);
  checkOneFleet(found, folder);
  const files: Leftover[] = [];
  for (const [, same] of Map.groupBy(found, groupOf)) {
    const ordered = same.toSorted(newestFirst);
    const kept = ordered.slice(0, keep);
    for (const old of ordered.slice(keep)) {
      const needed = kept.find(({ medium }) => countsOn(medium, old.medium, kept));
      if (needed) notes.push(`${old.names[0]} stays: ${needed.names[0]} is a delta that counts on it`);
      else files.push(...(await leftoversOf(folder, old, keep)));
    }
  }
  return { files: files.toSorted((a, b) => compareBytes(a.path, b.path)), notes };
};

const readAll = async (
  { folder, pinned, open }: ArchiveRequest,
  notes: string[],
): Promise<readonly Found[]> => {
  if (!(await stat(folder).catch(() => undefined))?.isDirectory())
    throw new FleetError('MEDIUM_MISSING', `there is no archive folder ${folder}`);
  const found: Found[] = [];
  for (const names of await mediaIn(folder)) {
    const [first = ''] = names;
    try {
      await using medium = await openForInspection([join(folder, first)], open);
      found.push({ names, medium: await readArchived(medium, pinned) });
    } catch (error) {
      if (!isFleetError(error) || error.exitCode === 1 || error.exitCode === 6) throw error;
      notes.push(`${first} stays: ${error.message}`);
    }
  }
  return found;
};

/** The media of the folder, each a tar or the parts of a set; sorted. Other files are ignored. */
export const mediaIn = async (folder: string): Promise<readonly (readonly string[])[]> => {
  const groups = new Map<string, string[]>();
  for await (const name of namesIn(folder, '')) {
    const set = parsePartName(name)?.set;
    if (set === undefined && !name.endsWith('.tar')) continue;
    const key = set ?? name;
    groups.set(key, [...(groups.get(key) ?? []), name]);
  }
  return [...groups.values()].map((names) => names.toSorted(compareBytes));
};

const checkOneFleet = (found: readonly Found[], folder: string): void => {
  const fleets = [...new Set(found.map(({ medium }) => medium.fleet))].toSorted();
  if (fleets.length < 2) return;
  throw new FleetError('WRONG_FLEET', `${folder} has media of ${fleets.join(' and ')}`, {
    hint: 'Name one of them with --root-sha256',
  });
};

const groupOf = ({ medium }: Found): string =>
  `${medium.releases.map(([channel]) => channel).join(' ')} for ${medium.sites.join(' ')}`;

/** Order by release numbers, which only increase, then by creation time. */
const newestFirst = (a: Found, b: Found): number => {
  for (const [index, [, version]] of a.medium.releases.entries()) {
    const other = b.medium.releases[index]?.[1] ?? 0;
    if (version !== other) return other - version;
  }
  return (
    compareBytes(b.medium.createdAt, a.medium.createdAt) || compareBytes(a.names[0] ?? '', b.names[0] ?? '')
  );
};

/** Media that a delta builds on, which a site needs after the loss of its disk. */
const countsOn = ({ base }: ArchivedMedium, old: ArchivedMedium, kept: readonly Found[]): boolean =>
  base.some(
    (digest) => old.bundles.includes(digest) && !kept.some(({ medium }) => medium.bundles.includes(digest)),
  );

const leftoversOf = async (folder: string, old: Found, keep: number): Promise<readonly Leftover[]> => {
  const releases = old.medium.releases.map(([channel, version]) => `${channel} ${version}`).join(', ');
  const why = `${releases || 'leases alone'}, and ${keep} newer ${keep === 1 ? 'one is' : 'are'} here`;
  return Promise.all(
    old.names.map(async (path) => ({
      root: folder,
      path,
      bytes: (await stat(join(folder, path))).size,
      why,
    })),
  );
};
