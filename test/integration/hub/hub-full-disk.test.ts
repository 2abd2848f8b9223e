import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { REPORTS_PATH } from '#bundles/formats/events/hub-api';
import { openStore } from '../../../scheduler/hub/store/open-store.ts';
import { rootAccess } from '../../harness/hosts/as-root.ts';
import { SKIPPED } from '../../harness/run/count-results.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { chain, FLEET, happenings, reportOf } from '../../scheduler/hub/test-hub.ts';
import { connect, enroll, handOver, networkAgent, newToken, startOffice } from './hub-process.ts';

const SIZE = 100;

const isRoot = rootAccess() === 'root';
const skipped = isRoot ? '' : `${SKIPPED}only root may mount)`;

it.skipIf(!isRoot)(
  `a hub with a full disk refuses reports, keeps acknowledged events, answers queries, and continues when there is room${skipped}`,
  async () => {
    await using office = await startOffice();
    const disk = join(office.path, 'disk');
    await mkdir(disk);
    await runOrFail(['mount', '-t', 'tmpfs', '-o', 'size=12m', 'tmpfs', disk]);
    await using _mounted = {
      [Symbol.asyncDispose]: async () => void (await runOrFail(['umount', '--lazy', disk])),
    };
    const db = join(disk, 'hub.db');
    await using hub = await office.serve('--db', db);
    const agent = networkAgent('plant-7/press-1');
    const cert = await enroll(hub.url, office.authority, agent, await newToken(office, agent.site, db));
    await using client = connect(hub.url, office.authority, { cert, key: agent.pem });
    const lines = chain(agent, happenings(SIZE * 400));
    const hand = async (batch: number) =>
      handOver(client, await reportOf(agent, lines, batch * SIZE + 1, (batch + 1) * SIZE));
    await writeFile(join(disk, 'other'), Buffer.alloc(6 << 20));
    let taken = 0;
    let refused = await hand(taken);
    for (; refused.status === 200 && taken < 399; refused = await hand(taken)) taken += 1;
    expect(taken).toBeGreaterThan(0);
    expect(refused).toMatchObject({ status: 503 });
    expect(refused.json()).toMatchObject({ code: 'DISK_FULL' });
    expect(await client.post(REPORTS_PATH, {})).toMatchObject({ status: 400 });
    expect((await client.get('/healthz')).status).toBe(200);
    // What is left may have room for the small write of a readiness check: the refused report counts.
    const unready = await client.get('/readyz');
    expect([unready.status, unready.json()]).toMatchObject([503, { code: 'DISK_FULL' }]);
    await rm(join(disk, 'other'));
    expect(await hand(taken)).toMatchObject({ status: 200 });
    expect((await client.get('/readyz')).status).toBe(200);
    expect(await hub.stop('SIGTERM')).toEqual([0, null]);
    await using store = await openStore(db, FLEET);
    const rows = await store.db.selectFrom('event').select('seq').orderBy('seq').execute();
    expect(rows.map(({ seq }) => seq)).toEqual(Array.from({ length: (taken + 1) * SIZE }, (_, at) => at + 1));
  },
  300_000,
);
