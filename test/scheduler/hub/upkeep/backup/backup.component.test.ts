import { copyFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { openLayout, openOrStartLayout, writeLayoutIndex } from '#bundles/formats/layout/layout';
import { publishLayout } from '#bundles/transport/publish/publish-layout';
import { addDays } from '#bundles/time';
import { openLayoutDestination } from '../../../../../scheduler/deliver/send/layout-destination.ts';
import { backUp, putBack, readBackup } from '../../../../../scheduler/hub/upkeep/backup/backup.ts';
import { endRestore } from '../../../../../scheduler/release/write/unfinished-restore.ts';
import { copyLayout } from '../../../../../scheduler/hub/upkeep/backup/copy-layout.ts';
import { moveNumbersPast } from '../../../../../scheduler/hub/upkeep/backup/move-past.ts';
import { pauseOrResume } from '../../../../../scheduler/hub/promote/decide/decide-about.ts';
import { importReports } from '../../../../../scheduler/hub/ingest/reports/import-reports.ts';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { openStore } from '../../../../../scheduler/hub/store/open-store.ts';
import { openKeyDirectory } from '../../../../../scheduler/keys/key-directory.ts';
import { readAuditLog } from '../../../../../scheduler/load/releases/audit-log.ts';
import { verdict } from '../../../../bundles/verdict.ts';
import { changeShared, type ChainedOffice, chainedOffice } from '../../promote/decide/chained-office.ts';
import { NOW as START } from '../../../release/removals/office.ts';
import { hubDatabaseAt } from '../../test-database.ts';
import { appendChanges } from '../../../../../scheduler/hub/changes/append-changes.ts';
import { noteChange } from '../../../../../scheduler/hub/changes/note-change.ts';
import type { Hub } from '../../../../../scheduler/hub/hub.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { breakGlass } from '../../../../../scheduler/hub/people/break-glass.ts';
import { revokeAgent } from '../../../../../scheduler/hub/sites/revoke-agent.ts';
import { createToken } from '../../../../../scheduler/hub/sites/tokens/create-token.ts';
import { listTokens, revokeToken } from '../../../../../scheduler/hub/sites/tokens/list-tokens.ts';
import { chain, enrolledHub, happenings, NOW, receiptOn, report } from '../../test-hub.ts';

const { signal } = new AbortController();
const later = (minutes: number): Date => new Date(START.getTime() + minutes * 60_000);

const hubOf = async (office: ChainedOffice, layout: string, db: string): Promise<Hub> => {
  const keys = await openKeyDirectory(join(office.folder, 'keys'));
  const store = await openStore(db, 'halden');
  return { keys, store, layout, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
};

/** Numbers of the releases that a build made. */
const numbersOf = async (office: ChainedOffice, layout: string, now: Date): Promise<readonly number[]> => {
  const { channels } = await office.build({ environments: ['qa'], layout, now });
  return channels.flatMap(({ outcome, version }) => (outcome === 'released' ? [version] : []));
};

/** An office that was backed up at its first release, then published the second release and a decision. */
const backedUp = async () => {
  const office = await chainedOffice();
  const db = await hubDatabaseAt(join(office.folder, 'hub.db'), 'halden');
  const folder = join(office.folder, 'backup');
  const registry = join(office.folder, 'registry');
  const publish = async (layout: string, now: Date) => {
    await using destination = await openLayoutDestination(registry, now);
    return await publishLayout(await openLayout(layout), destination, { now, signal });
  };
  {
    await using hub = await hubOf(office, office.layout, db);
    await backUp(hub, db, folder, { now: later(1), signal });
  }
  await changeShared(office, later(2));
  const wish = { environment: 'prod', person: 'ann', reason: 'audit', now: later(3), signal };
  await pauseOrResume(await office.openChain(), 'pause', wish);
  await publish(office.layout, later(4));
  const restore = async (margin: number, asks: boolean) => {
    const place = { layout: join(office.folder, 'restored'), db: join(office.folder, 'restored.db') };
    const backup = await readBackup(folder, 'halden');
    await putBack(folder, backup, place, signal);
    await using hub = await hubOf(office, place.layout, place.db);
    await using stack = new AsyncDisposableStack();
    const destination = asks ? stack.use(await openLayoutDestination(registry, later(5))) : undefined;
    const options = { now: later(5), signal, command: 'restore', margin, destination };
    const moved = await moveNumbersPast(hub, { ...options, backup: backup.numbers });
    await endRestore(place.layout);
    return { ...place, moved };
  };
  return { office, folder, db, publish, restore };
};

describe('a restored backup', () => {
  it('reuses no release number of the registry, continues its audit log, and publishes to it', async () => {
    const { office, publish, restore } = await backedUp();
    const { layout, moved } = await restore(0, true);
    expect(moved).toMatchObject({ floors: { releases: { 'qa/press': 2 } }, entries: 1 });
    const { roots } = await openKeyDirectory(join(office.folder, 'keys'));
    expect((await readAuditLog(await openLayout(layout), roots)).entries).toHaveLength(1);
    await office.edit('apps/labels/host/package.yaml', (text) => text.replace('/two', '/three'));
    expect(await numbersOf(office, layout, later(6))).toEqual([3]);
    const outcomes = await publish(layout, later(7));
    expect(outcomes.flatMap(({ error }) => error ?? [])).toEqual([]);
    // Without the floors the same build signs number 2 for other content, which the registry refuses.
    await copyFile(join(office.folder, 'backup/layout/index.json'), join(office.layout, 'index.json'));
    expect(await numbersOf(office, office.layout, later(6))).toEqual([2]);
    expect((await publish(office.layout, later(8))).map(({ error }) => error?.code)).toContain('ROLLBACK');
  });

  it('skips release numbers that may be on media, in all channels', async () => {
    const { office, restore } = await backedUp();
    const { layout } = await restore(240, false);
    await office.edit('apps/labels/host/package.yaml', (text) => text.replace('/two', '/three'));
    expect(await numbersOf(office, layout, later(6))).toEqual([242]);
    await office.edit('platform/fleet.yaml', (text) => text.replace(', promotedFrom: qa', ''));
    const prod = await office.build({ environments: ['prod'], layout, now: later(7) });
    expect(new Set(prod.channels.map(({ version }) => version))).toEqual(new Set([241]));
  });

  it('of a layout without releases is empty', async () => {
    await using hub = await enrolledHub();
    const [layout, to] = [join(hub.path, 'empty'), join(hub.path, 'copy')];
    await writeLayoutIndex(await openOrStartLayout(layout), []);
    await copyLayout(layout, to, signal);
    expect((await openLayout(to)).manifests).toEqual([]);
  });

  it('is refused into an existing place, for another fleet, and without its last file', async () => {
    const { office, folder, db } = await backedUp();
    const backup = await readBackup(folder, 'halden');
    const put = (layout: string, file: string) => putBack(folder, backup, { layout, db: file }, signal);
    await expect(put(office.layout, join(folder, 'new.db'))).rejects.toMatchObject({ code: 'USAGE' });
    await expect(put(join(folder, 'new'), db)).rejects.toMatchObject({ code: 'USAGE' });
    await expect(readBackup(folder, 'acme')).rejects.toMatchObject({ code: 'WRONG_FLEET' });
    await expect(readBackup(office.layout, 'halden')).rejects.toMatchObject({ code: 'MEDIUM_MISSING' });
    await using hub = await hubOf(office, office.layout, db);
    await writeFile(join(folder, 'mine'), '');
    const options = { now: later(9), signal };
    await expect(backUp(hub, db, folder, options)).rejects.toMatchObject({ code: 'USAGE' });
    for (const path of [join(folder, 'mine'), ''])
      await expect(backUp(hub, db, path, options)).rejects.toMatchObject({ code: 'IO' });
  });

  it('I1: takes away again what was taken away after it, and names what people have to do again', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    const at = (minutes: number): Date => new Date(NOW.getTime() + minutes * 60_000);
    const by = { person: 'ann', reason: 'stolen' };
    const office: Hub = { ...hub, store: { ...hub.store, by } };
    const terms = { note: undefined, expires: addDays(NOW, 1), now: NOW };
    const tokenFor = async (name: string): Promise<string> =>
      (
        await createToken(
          hub.store,
          { scope: 'enroll', site: 'plant-7', agent: name, replaceKey: false },
          terms,
        )
      ).row.id;
    const [used, lost, kept] = [
      await tokenFor('press-9'),
      await tokenFor('press-8'),
      await tokenFor('press-7'),
    ];
    const code = await createToken(hub.store, { scope: 'break-glass', person: 'mara' }, terms);
    await breakGlass(hub.store, code.token, NOW);
    await appendChanges(hub, { command: 'test', now: NOW });
    const folder = join(hub.path, 'backup');
    await backUp(hub, hub.db, folder, { now: at(1), signal });
    const signer = await siteSigner(hub);
    await revokeAgent(office.store, agent.id, signer, at(2));
    await revokeToken(office.store, lost, at(2));
    const enrolment = { change: 'sites enroll', about: 'plant-7/press-9', old: null, new: { key: 'f00d' } };
    await office.store.transact((tx) => noteChange(tx, enrolment, by, at(3)));
    await appendChanges(office, { command: 'test', now: at(3) });
    const place = { layout: join(hub.path, 'restored'), db: join(hub.path, 'restored.db') };
    await putBack(folder, await readBackup(folder, 'acme'), place, signal);
    const store = await openStore(place.db, 'acme');
    await using restored: Hub = { ...hub, store, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
    const saved = await readBackup(folder, 'acme');
    const options = { now: at(5), signal, command: 'restore', margin: 0, destination: undefined };
    const moved: Awaited<ReturnType<typeof moveNumbersPast>>[] = [];
    const restoring = async (): Promise<void> => {
      moved.push(await moveNumbersPast(restored, { ...options, savedAt: saved.at }));
    };
    expect(await verdict(restoring)).toBe('ACCEPT');
    expect(moved[0]?.changes).toMatchObject({
      agents: [agent.id],
      tokens: [lost, used, code.row.id],
      sessions: 1,
      lost: [{ change: 'sites enroll', about: 'plant-7/press-9', person: 'ann' }],
    });
    const site = await store.db.selectFrom('site').selectAll().executeTakeFirstOrThrow();
    expect(site.statement).not.toContain(agent.name);
    const open = await listTokens(store.db, at(5));
    expect(open.filter(({ state }) => state === 'open').map(({ id }) => id)).toEqual([kept]);
  });

  it('acknowledges only the events of the restored database: lost events are a gap', async () => {
    await using hub = await enrolledHub();
    const { agent } = hub;
    const stick = await hub.stick();
    const lines = chain(agent, happenings(5));
    await report(stick, agent, lines, 1, 2);
    await hub.importFrom(stick);
    const folder = join(hub.path, 'backup');
    await backUp(hub, hub.db, folder, { now: NOW, signal });
    await report(stick, agent, lines, 3, 4);
    await hub.importFrom(stick);
    expect(await receiptOn(stick, hub, agent)).toMatchObject({ to: 4 });
    const place = { layout: join(hub.path, 'restored'), db: join(hub.path, 'restored.db') };
    await putBack(folder, await readBackup(folder, 'acme'), place, signal);
    await endRestore(place.layout);
    const store = await openStore(place.db, 'acme');
    await using restored: Hub = {
      keys: hub.keys,
      store,
      layout: place.layout,
      [Symbol.asyncDispose]: () => store[Symbol.asyncDispose](),
    };
    // The agent deleted events 1 to 4 for the receipt that was lost with the database.
    const next = await hub.stick('next');
    await report(next, agent, lines, 5, 5);
    await using medium = await openMedium(next);
    const { agents } = await importReports(restored, medium, addDays(NOW, 1));
    expect(agents).toMatchObject([{ gaps: [{ from: 3, to: 4 }] }]);
    expect(await receiptOn(next, restored, agent)).toMatchObject({ to: 2 });
    // What it still has is taken, and acknowledged.
    const again = await hub.stick('again');
    await report(again, agent, lines, 1, 5);
    await using second = await openMedium(again);
    await importReports(restored, second, addDays(NOW, 2));
    expect(await receiptOn(again, restored, agent)).toMatchObject({ to: 5 });
  });
});
