import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Event } from '#bundles/formats/events/event';
import { openStore } from '../../scheduler/hub/store/open-store.ts';
import { describeWith } from '../harness/run/describe-with.ts';
import { LONG } from '../harness/run/long.ts';
import { startPostgresql } from '../harness/neighbours/postgresql.ts';
import { programFile } from '../harness/run/program-file.ts';
import { temporaryDirectory } from '../harness/run/temporary-directory.ts';
import { makeFolderField } from './reliability/folder-field.ts';
import { brokenChain, toldTwice } from './reliability/hub-record.ts';
import { startOnlineOffice } from './reliability/online-office.ts';
import { makeProcess } from './reliability/process.ts';
import { agentEnv, enrol, faultsOfState } from './reliability/run-kills.ts';

const AGENT = 'plant-7/press-2';
const AWAY_S = 60;

/** test/integration/hub/hub-kills.test.ts has shorter outages in a usual run. */
describeWith(
  ['dockerRegistry', 'postgresql'],
  'a hub whose PostgreSQL is away',
  ({ dockerRegistry, postgresql }) => {
    it.runIf(LONG)(
      'for a minute: the agent corrects drift meanwhile, then hub and agent continue automatically, with each event once',
      async () => {
        await using server = await startPostgresql(postgresql, { fast: false });
        await using folder = await temporaryDirectory('away');
        const database = server.url(await server.create());
        await using office = await startOnlineOffice(folder.path, {
          dockerRegistry,
          watches: true,
          database,
        });
        const field = await makeFolderField(office, join(folder.path, 'root'));
        const state = join(office.folder, 'agent-state');
        const env = { ...process.env, ...agentEnv(office, state), ...field.env };
        const argv = [process.execPath, programFile('agent'), 'run'];
        await using agent = makeProcess(argv, { cwd: office.folder, env, ready: '"msg":"started"' });
        await enrol(office, field, env);
        await field.change(1, true);
        await agent.start();
        const waiting = () => faultsOfState(state);
        const faults = async () => [...(await field.faults()), ...waiting()];
        await expect.poll(faults, { timeout: 120_000 }).toEqual([]);
        const before = await eventsIn(database);

        await server.stop('immediate');
        let corrected = 0;
        for (const end = Date.now() + AWAY_S * 1000; Date.now() < end; await sleep(5_000)) {
          await field.spoil(Math.random);
          await expect.poll(field.faults, { timeout: 30_000 }).toEqual([]);
          corrected += 1;
        }
        const kept = waiting();
        expect(kept).toEqual([expect.stringMatching(/events? waits? for the hub/)]);
        await field.change(2, true);
        await server.start();
        const start = performance.now();
        await expect.poll(faults, { timeout: 300_000 }).toEqual([]);
        const seconds = (performance.now() - start) / 1000;

        const after = await eventsIn(database);
        expect(brokenChain(after)).toEqual([]);
        expect(after.slice(0, before.length)).toEqual(before);
        expect(toldTwice(after.map((line) => JSON.parse(line) as Event))).toEqual([]);
        expect([agent.isRunning(), office.hub.isRunning()]).toEqual([true, true]);
        console.log(
          `away ${AWAY_S} s, ${corrected} corrections meanwhile, ${kept.join()}; ${after.length} events at the hub, each once, ${seconds.toFixed(1)} s after it was back`,
        );
      },
      600_000,
    );
  },
);

const eventsIn = async (database: string): Promise<readonly string[]> => {
  await using store = await openStore(database, 'halden');
  const rows = await store.db
    .selectFrom('event')
    .select('line')
    .where('agent', '=', AGENT)
    .orderBy('seq')
    .execute();
  expect(await store.db.selectFrom('alarm').selectAll().execute()).toEqual([]);
  return rows.map(({ line }) => line);
};
