import { join } from 'node:path';
import { FleetError, isFleetError, toFleetError } from '#bundles/errors';
import { readRegularFile } from '#bundles/formats/archive/read-regular-file';
import type { Layout } from '#bundles/formats/layout/layout';
import { writeFileAtomically } from '#bundles/formats/layout/write-file';
import { parseJson } from '#bundles/json/parse-json';
import { type Channel, formatChannel } from '#bundles/names';

/** Numbers that were, or may have been, given out although this layout does not have them: it is an older copy that was restored. */
export type NumberFloors = {
  /** By formatChannel. */
  readonly releases: Readonly<Record<string, number>>;
  readonly leases: Readonly<Record<string, number>>;
};

/** Stands for every channel that has no floor of its own. */
export const ANY_CHANNEL = '*';

const FILE = 'fleet-scheduler-floors.json';
const NONE: NumberFloors = { releases: {}, leases: {} };

/** @throws FleetError LAYOUT_INVALID, PERMISSION, IO */
const readNumberFloors = async (directory: string): Promise<NumberFloors> => {
  const file = join(directory, FILE);
  try {
    const { releases, leases } = parseJson((await readRegularFile(file)).toString('utf8')) as NumberFloors;
    if ([releases, leases].every(isNumbers)) return { releases, leases };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return NONE;
    if (!isFleetError(error)) throw toFleetError(error, `reading ${file}`);
    if (error.code === 'MEDIUM_INVALID') throw error;
  }
  throw new FleetError('LAYOUT_INVALID', `${file} is not the floors of a restored layout`, {
    hint: 'Run fleet-scheduler restore --in-place, which writes it again',
  });
};

const isNumbers = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).every((number) => Number.isSafeInteger(number));

/** Raises floors, never lowers one. The caller holds the lock of the layout. @throws FleetError as readNumberFloors; DISK_FULL */
export const raiseNumberFloors = async (directory: string, floors: NumberFloors): Promise<void> => {
  const before = await readNumberFloors(directory);
  const raised: NumberFloors = {
    releases: higher(before.releases, floors.releases),
    leases: higher(before.leases, floors.leases),
  };
  await writeFileAtomically(join(directory, FILE), Buffer.from(`${JSON.stringify(raised, null, 2)}\n`));
};

const higher = (
  a: Readonly<Record<string, number>>,
  b: Readonly<Record<string, number>>,
): Readonly<Record<string, number>> =>
  Object.fromEntries(
    [...new Set([...Object.keys(a), ...Object.keys(b)])]
      .toSorted()
      .map((name) => [name, Math.max(a[name] ?? 0, b[name] ?? 0)]),
  );

/**
 * How far a floor may be above the newest number that is signed: a release each second for a century. The file is not signed, and agents
 * never accept a number below one that they have, so a typing mistake or an intruder could use up all numbers there are.
 */
export const MAX_JUMP = 2 ** 32;

/**
 * The number after the newest that the layout has, and after its floor.
 * @throws FleetError as readNumberFloors; LAYOUT_INVALID for a floor beyond MAX_JUMP; NOT_NEWER if no number is left
 */
export const nextNumber = async (
  { directory }: Pick<Layout, 'directory'>,
  kind: keyof NumberFloors,
  channel: Channel,
  newest: number | undefined,
): Promise<number> => {
  const floors = (await readNumberFloors(directory))[kind];
  const floor = floors[formatChannel(channel)] ?? floors[ANY_CHANNEL] ?? 0;
  const what = `${kind === 'releases' ? 'release' : 'lease'} of ${formatChannel(channel)}`;
  if (floor > (newest ?? 0) + MAX_JUMP)
    throw new FleetError(
      'LAYOUT_INVALID',
      `${join(directory, FILE)} requires numbers above ${floor}, and the newest ${what} has ${newest ?? 'none'}`,
      {
        hint: 'Sites never take a lower number again: correct the file, or remove it and run fleet-scheduler restore --in-place',
      },
    );
  const next = Math.max(newest ?? 0, floor) + 1;
  if (Number.isSafeInteger(next)) return next;
  throw new FleetError('NOT_NEWER', `no number is left for the next ${what}: the newest is ${newest}`, {
    hint: 'The officers replace the key that signed it: fleet-scheduler root rotate; its numbers then stop counting',
  });
};
