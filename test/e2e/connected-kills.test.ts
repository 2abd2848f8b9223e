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
  'two fleets of the same names, side by side, under load',
  ({ dockerRegistry }) => {
    const run = async (victim: Victim, seed: number): Promise<KillReport> => {
      await using folder = await temporaryDirectory('kills');
      await using office = await startOnlineOffice(folder.path, {
        dockerRegistry,
        watches: victim !== 'publish',
      });
      const field = await makeFolderField(office, join(folder.path, 'root'));
      return await runKills(office, field, { victim, kills: KILLS, seed, recoveryMs: 60_000 });
    };

    it('recover from each kill of an agent, and of a hub that also builds and publishes', async () => {
      const [agent, hub] = await Promise.all([run('agent', 1), run('hub', 2)]);
      expect(agent.recoveries).toHaveLength(KILLS);
      expect(hub.recoveries).toHaveLength(KILLS);
      expect(agent.events).toBeGreaterThan(KILLS);
    });

    if (LONG)
      it('recover from each kill of a publish', async () => {
        const { recoveries } = await run('publish', 3);
        expect(recoveries).toHaveLength(KILLS);
      });
  },
);
