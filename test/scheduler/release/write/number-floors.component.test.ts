import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { plausibleNumbers } from '../../../../scheduler/hub/upkeep/backup/known-numbers.ts';
import {
  MAX_JUMP,
  nextNumber,
  raiseNumberFloors,
} from '../../../../scheduler/release/write/number-floors.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const KIOSK = { environment: 'prod', clusterType: 'kiosk' };
const FILE = 'fleet-scheduler-floors.json';

it('I9: a floor that would use up the numbers of a channel is refused: sites never take a lower one again', async () => {
  await using folder = await temporaryDirectory();
  const layout = { directory: folder.path };
  await raiseNumberFloors(folder.path, { releases: { 'prod/kiosk': 400, '*': 30 }, leases: {} });
  expect(await nextNumber(layout, 'releases', KIOSK, 7)).toBe(401);
  for (const floor of [Number.MAX_SAFE_INTEGER - 1, MAX_JUMP + 8]) {
    await writeFile(join(folder.path, FILE), JSON.stringify({ releases: { '*': floor }, leases: {} }));
    await expect(nextNumber(layout, 'releases', KIOSK, 7)).rejects.toMatchObject({ code: 'LAYOUT_INVALID' });
  }
  // What is signed counts: a floor near it is one of a restore.
  expect(await nextNumber(layout, 'releases', KIOSK, 8)).toBe(MAX_JUMP + 9);
});

it('fails when no release number is left, with the hint that the officers must replace the key', async () => {
  await using folder = await temporaryDirectory();
  const layout = { directory: folder.path };
  const last = nextNumber(layout, 'releases', KIOSK, Number.MAX_SAFE_INTEGER);
  await expect(last).rejects.toMatchObject({ code: 'NOT_NEWER' });
});

it('a restore ignores implausible numbers from reports and backup.json', () => {
  const signed = { releases: { 'prod/kiosk': 7 }, leases: {}, sites: { 'plant-7': 3 } };
  const said = {
    releases: { 'prod/kiosk': 9, 'prod/line': Number.MAX_SAFE_INTEGER },
    leases: { 'prod/kiosk': 1.5 },
    sites: { 'plant-7': Number.MAX_SAFE_INTEGER, 'plant-8': 2 },
  };
  expect(plausibleNumbers(signed, said)).toEqual({
    numbers: { releases: { 'prod/kiosk': 9 }, leases: {}, sites: { 'plant-8': 2 } },
    implausible: [
      'release 9007199254740991 of prod/line',
      'lease 1.5 of prod/kiosk',
      'site statement 9007199254740991 of plant-7',
    ],
  });
});
