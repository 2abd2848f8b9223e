import { join } from 'node:path';
import { expect, it } from 'vitest';
import { describeWith } from '../harness/run/describe-with.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';
import { makeFolderField } from './reliability/folder-field.ts';
import { startOnlineOffice } from './reliability/online-office.ts';
import { type KillReport, runKills, type Victim } from './reliability/run-kills.ts';

const KILLS = Number(process.env['FLEET_KILLS'] ?? 20);

/**
 * docs/reliability.md has the same with more kills, and on a cluster. In every run hub-kills, agent-online-crash and publish of
 * test/integration kill each program at boundaries of its work.
 */
describeWith(
  ['dockerRegistry'],
  'fleets with the same names side by side under load',
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
      const reports = await Promise.all([run('agent', 1), run('hub', 2)]);
      for (const { recoveries, kills, events } of reports) {
        expect(recoveries).toHaveLength(KILLS);
        expect(events).toBeGreaterThan(kills);
      }
    });

    it('recover from each kill of a publish', async () => {
      const { recoveries } = await run('publish', 3);
      expect(recoveries).toHaveLength(KILLS);
    });
  },
);
