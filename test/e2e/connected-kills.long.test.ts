import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeWith } from '../harness/run/describe-with.ts';
import { LONG } from '../harness/run/long.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';
import { makeFolderField } from './reliability/folder-field.ts';
import { startOnlineOffice } from './reliability/online-office.ts';
import { type KillReport, runKills, type Victim } from './reliability/run-kills.ts';

const KILLS = Number(process.env['FLEET_KILLS'] ?? (LONG ? 20 : 1));

/**
 * docs/reliability.md has the same with more kills, and on a cluster. A killed publish is part of the long run:
 * test/integration/publish/publish.test.ts kills one at each of its requests.
 */
describeWith(
  ['dockerRegistry'],
  LONG ? 'fleets of the same names, side by side, under load' : 'a fleet under load',
  ({ dockerRegistry }) => {
    const run = async (victims: readonly Victim[], seed: number): Promise<KillReport> => {
      await using folder = await temporaryDirectory('kills');
      await using office = await startOnlineOffice(folder.path, {
        dockerRegistry,
        watches: !victims.includes('publish'),
      });
      const field = await makeFolderField(office, join(folder.path, 'root'));
      return await runKills(office, field, {
        victims,
        kills: KILLS * victims.length,
        seed,
        recoveryMs: 60_000,
      });
    };

    it('recover from each kill of an agent, and of a hub that also builds and publishes', async () => {
      const runs: readonly (readonly Victim[])[] = LONG ? [['agent'], ['hub']] : [['agent', 'hub']];
      const reports = await Promise.all(runs.map((victims, index) => run(victims, index + 1)));
      expect(reports.flatMap(({ recoveries }) => recoveries)).toHaveLength(2 * KILLS);
      for (const { kills, events } of reports) expect(events).toBeGreaterThan(kills);
    });

    if (LONG)
      it('recover from each kill of a publish', async () => {
        const { recoveries } = await run(['publish'], 3);
        expect(recoveries).toHaveLength(KILLS);
      });
  },
);
