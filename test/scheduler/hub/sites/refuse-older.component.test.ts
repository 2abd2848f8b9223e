import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { toFleetError } from '#bundles/errors';
import { openLayout } from '#bundles/formats/layout/layout';
import type { Hub } from '../../../../scheduler/hub/hub.ts';
import { writeSite } from '../../../../scheduler/hub/sites/write-site.ts';
import { refuseOlder } from '../../../../scheduler/hub/sites/refuse-older.ts';
import { revokeAgent } from '../../../../scheduler/hub/sites/revoke-agent.ts';
import { setValues } from '../../../../scheduler/hub/sites/set-values.ts';
import { siteSigner } from '../../../../scheduler/hub/sites/site-signer.ts';
import { openStore } from '../../../../scheduler/hub/store/open-store.ts';
import { enrolled, enrolledHub, FLEET, NOW, type TestHub } from '../test-hub.ts';

const set = async (hub: Hub, color: string): Promise<string> => {
  try {
    const change = { site: 'plant-7', set: { color }, unset: [] };
    const { site } = await setValues(hub.store, change, await siteSigner(hub), NOW);
    await writeSite(hub, site, { now: NOW });
    return 'ACCEPT';
  } catch (error) {
    return toFleetError(error).code;
  }
};

const siteOf = ({ store }: Hub) =>
  store.db.selectFrom('site').selectAll().where('name', '=', 'plant-7').executeTakeFirstOrThrow();

/** The hub on a database with the sites and agents of the hub's as they are now. */
const copied = async (hub: TestHub): Promise<Hub> => {
  const store = await openStore(join(hub.path, 'older.db'), FLEET);
  for (const table of ['site', 'agent', 'agent_key'] as const) {
    const rows = await hub.store.db.selectFrom(table).selectAll().execute();
    if (rows.length > 0) await store.db.insertInto(table).values(rows).execute();
  }
  const { keys, layout } = hub;
  return { keys, layout, store, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
};

describe('a database that is older than its layout', () => {
  it('I15: signs no statement, however often it is asked, and no revoked agent comes back -> ROLLBACK', async () => {
    await using hub = await enrolledHub();
    await enrolled(hub, 'plant-7/press-2');
    await using older = await copied(hub);
    await writeSite(hub, (await revokeAgent(hub.store, 'plant-7/press-2', await siteSigner(hub), NOW)).site, {
      now: NOW,
    });
    expect(await set(hub, 'blue')).toBe('ACCEPT');
    const before = await siteOf(older);
    const answers: string[] = [];
    for (const color of ['red', 'green', 'black', 'white']) answers.push(await set(older, color));
    expect(new Set(answers).size).toBe(1);
    // What is in the database and what is in the layout are as before, so that no number has two contents.
    expect(await siteOf(older)).toEqual(before);
    await refuseOlder(await openLayout(hub.layout), await siteOf(hub));
    expect(answers[0]).toBe('ROLLBACK');
  });

  it('is refused at the same number, too, if its statement is another one', async () => {
    await using hub = await enrolledHub();
    await using older = await copied(hub);
    // Each changes the site once: the same number, with two contents.
    const change = { site: 'plant-7', set: { color: 'red' }, unset: [] };
    await setValues(older.store, change, await siteSigner(older), NOW);
    expect(await set(hub, 'blue')).toBe('ACCEPT');
    expect(await set(older, 'green')).toBe('ROLLBACK');
    expect(await set(hub, 'black')).toBe('ACCEPT');
  });

  it('names both statements and what to do', async () => {
    await using hub = await enrolledHub();
    const layout = await openLayout(hub.layout);
    await expect(refuseOlder(layout, { name: 'plant-7', version: 0 })).rejects.toMatchObject({
      message: expect.stringMatching(
        /has statement 1 of site plant-7, and the newest in this database is none$/,
      ),
      hint: expect.stringContaining('restore --in-place'),
    });
    await refuseOlder(layout, { name: 'plant-7', version: 0 }, 1);
    await refuseOlder(layout, { name: 'plant-8', version: 0 });
  });
});
