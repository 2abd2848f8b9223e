import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { FleetError, toFleetError } from '#bundles/errors';
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
export const ANY = '*';

const FILE = 'fleet-scheduler-floors.json';
const NONE: NumberFloors = { releases: {}, leases: {} };

/** @throws FleetError LAYOUT_INVALID, PERMISSION, IO */
const readNumberFloors = async (directory: string): Promise<NumberFloors> => {
  const file = join(directory, FILE);
  try {
    const { releases, leases } = parseJson(await readFile(file, 'utf8')) as NumberFloors;
    if ([releases, leases].every(isNumbers)) return { releases, leases };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return NONE;
    if (!(error instanceof FleetError)) throw toFleetError(error, `reading ${file}`);
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

/** The number after the newest that the layout has, and after its floor. @throws FleetError as readNumberFloors */
export const nextNumber = async (
  { directory }: Pick<Layout, 'directory'>,
  kind: keyof NumberFloors,
  channel: Channel,
  newest: number | undefined,
): Promise<number> => {
  const floors = (await readNumberFloors(directory))[kind];
  const floor = floors[formatChannel(channel)] ?? floors[ANY] ?? 0;
  return Math.max(newest ?? 0, floor) + 1;
};
