import { join } from 'node:path';
import { expect, it } from 'vitest';
import { addDays, formatTime } from '#bundles/time';
import { keptFrom } from '../../../../../scheduler/hub/upkeep/retention/kept-from.ts';
import { openKeyDirectory } from '../../../../../scheduler/keys/key-directory.ts';
import { changeShared, chainedOffice } from '../../promote/decide/chained-office.ts';

it("facts are kept since the first release of a channel's candidate, or for the retention period if that is longer", async () => {
  const office = await chainedOffice();
  const keys = await openKeyDirectory(join(office.folder, 'keys'));
  const from = async (cutoff: Date) => await keptFrom({ layout: office.layout, keys }, cutoff);
  const log = await office.build({ environments: ['qa'] });
  const [channel = ''] = log.channels.map(({ environment, clusterType }) => `${environment}/${clusterType}`);
  const far = new Date('2036-01-01T00:00:00Z');
  const first = (await from(far))(channel);
  expect(first < formatTime(far)).toBe(true);
  const long = addDays(new Date(first), -100);
  expect((await from(long))(channel)).toBe(formatTime(long));
  // A channel without a release has no candidate whose facts a gate could ask for.
  expect((await from(far))('qa/other')).toBe(formatTime(far));
  const later = addDays(new Date(first), 50);
  await changeShared(office, later);
  expect((await from(far))(channel)).toBe(formatTime(later));
});
