import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { expect, test } from 'vitest';
import { canonicalBytes } from '#bundles/json/canonical';
import { openFiles } from '#bundles/formats/medium/open-files';
import { MEDIUM_FILE } from '#bundles/formats/medium/medium';
import { addDays, formatTime } from '#bundles/time';
import { recordFreshness } from '../../../../../scheduler/hub/questions/state/freshness-policies.ts';
import { departureOf, recordDeparture } from '../../../../../scheduler/hub/sites/medium/note-medium.ts';
import { listMedia } from '../../../../../scheduler/hub/questions/status/list-media.ts';
import { applied, days, PROD, QA, release, shop } from '../history/shop-hub.ts';
import { chain, enrolled, NOW, report, type TestHub } from '../../test-hub.ts';

const media = (hub: TestHub, filter = {}, limit = 10, cursor?: string) =>
  listMedia(hub, filter, { limit, cursor }, NOW);

const WEEK = 7 * 86_400;

test('lists returned and imported media, and the expected date of the next', async () => {
  await using hub = await shop();
  const { store } = hub;
  await recordFreshness(store, [
    {
      name: 'prod',
      environment: 'prod',
      clusterTypes: [],
      lateSeconds: WEEK,
      staleSeconds: 4 * WEEK,
      visitsSeconds: WEEK,
      at: { file: 'promotion/prod.yaml' },
    },
  ]);
  const agent = await enrolled(hub, 'plant-8/press-1', PROD);
  const lines = chain(agent, [
    { type: 'imported', release: { ...PROD, version: 2 }, at: formatTime(days(-9)) },
    applied('web', hub.first, days(-9)),
  ]);
  const stick = await hub.stick('plant-8');
  await report(stick, agent, lines);
  await hub.importFrom(stick, days(-8));
  const { agents, arrivals, next } = await media(hub, { environment: 'prod' });
  expect(agents).toMatchObject([
    {
      agent: 'plant-7/press-1',
      accepted: null,
      newest: { version: 3 },
      back: { receivedAt: formatTime(days(-2)), events: { from: 4, to: 4 } },
      acknowledged: 4,
      visit: { isOverdue: false },
    },
    {
      agent: 'plant-8/press-1',
      channel: 'prod/kiosk',
      accepted: { channel: 'prod/kiosk', version: 2 },
      newest: { version: 3 },
      back: { receivedAt: formatTime(days(-8)), events: { from: 1, to: 2 } },
      acknowledged: 2,
      visit: { expectedBy: formatTime(days(-1)), isOverdue: true },
    },
  ]);
  expect(arrivals.map(({ receivedAt, agents: count, sites }) => [receivedAt, count, sites])).toEqual([
    [formatTime(days(-8)), 1, ['plant-8']],
    [formatTime(days(-1)), 1, ['plant-7']],
    [formatTime(days(-2)), 1, ['plant-7']],
    [formatTime(days(-9)), 1, ['plant-7']],
  ]);
  expect(next).toBeNull();
  await release(hub, PROD, 4, { web: { 'a.txt': 'a' } });
  expect((await media(hub, { site: 'plant-8' })).agents).toMatchObject([{ newest: { version: 4 } }]);
});

test('media come in pages, without agents that were heard over the network', async () => {
  await using hub = await shop();
  await hub.store.db
    .updateTable('agent')
    .set({ online_at: formatTime(addDays(NOW, -1)) })
    .where('id', '=', 'lab/rig-1')
    .execute();
  const first = await media(hub, {}, 1);
  expect(first.agents).toEqual([]);
  const second = await media(hub, {}, 1, first.next ?? '');
  expect(second.agents).toMatchObject([{ agent: 'plant-7/press-1', visit: null }]);
  expect(second.arrivals).toEqual([]);
  const visible = { whole: new Set(['qa']), parts: new Map([['prod', new Set(['web'])]]) };
  const limited = await media(hub, { visible });
  expect([limited.agents, limited.arrivals.map(({ sites }) => sites)]).toEqual([[], [['lab']]]);
});

test('a returned medium lists the releases of this fleet that it carried, by site', async () => {
  await using hub = await shop();
  const agent = await enrolled(hub, 'plant-8/press-1', PROD);
  const lines = chain(agent, [applied('web', hub.first, days(-3)), applied('web', hub.second, days(-1))]);
  const document = { digest: hub.first, size: 1, mediaType: 'text/plain' };
  const table = {
    format: 1,
    createdAt: formatTime(days(-4)),
    documents: [
      { ...document, role: 'release', ...PROD, version: 2 },
      { ...document, role: 'release', ...QA, version: 2 },
      { ...document, role: 'site', site: 'plant-8', version: 1 },
    ],
    bundles: [],
    chunks: [],
    critical: [],
  };
  for (const [fleet, seq, at] of [
    ['acme', 1, days(-2)],
    ['other', 2, days(-1)],
  ] as const) {
    const stick = await hub.stick(fleet);
    await mkdir(join(stick, 'fleet'), { recursive: true });
    await writeFile(join(stick, MEDIUM_FILE), canonicalBytes({ ...table, fleet }));
    await report(stick, agent, lines, seq, seq);
    await hub.importFrom(stick, at);
  }
  const { arrivals } = await media(hub);
  const of = (at: Date) => arrivals.find(({ receivedAt }) => receivedAt === formatTime(at));
  expect(of(days(-2))?.carried).toEqual({
    createdAt: formatTime(days(-4)),
    releases: ['prod/kiosk r2', 'qa/kiosk r2'],
    sites: ['plant-8'],
  });
  expect(of(days(-1))?.carried).toBeNull();
});

/** The table of contents as fleet-export writes it, for plant-8. */
const writeTable = async (stick: string, changes: object = {}): Promise<void> => {
  const document = { digest: `sha256:${'a'.repeat(64)}`, size: 1, mediaType: 'text/plain' };
  const table = {
    format: 1,
    fleet: 'acme',
    createdAt: formatTime(days(-4)),
    documents: [
      { ...document, role: 'release', ...PROD, version: 2 },
      { ...document, role: 'site', site: 'plant-8', version: 1 },
    ],
    bundles: [],
    chunks: [],
    critical: [],
    ...changes,
  };
  await mkdir(join(stick, 'fleet'), { recursive: true });
  await writeFile(join(stick, MEDIUM_FILE), canonicalBytes(table));
};

const filled = async (hub: TestHub, name: string, changes: object = {}): Promise<string> => {
  const stick = await hub.stick(name);
  await writeTable(stick, changes);
  return stick;
};

test('a recorded medium is on its way until it returns, and lists the sites where it arrived', async () => {
  await using hub = await shop();
  const agent = await enrolled(hub, 'plant-8/press-1', PROD);
  const stick = await filled(hub, 'stick');
  const record = async (at: Date): Promise<void> => {
    await using medium = await openFiles(stick);
    await recordDeparture(hub.store, await departureOf(medium, hub.store.fleet), at);
  };
  await record(days(-3));
  const listed = {
    createdAt: formatTime(days(-4)),
    recordedAt: formatTime(days(-3)),
    releases: ['prod/kiosk r2'],
    sites: ['plant-8'],
    arrived: [],
  };
  expect((await media(hub)).underway).toEqual([listed]);
  // A repetition changes nothing.
  await record(days(-2));
  expect((await media(hub)).underway).toEqual([listed]);
  expect((await media(hub, { site: 'plant-8', environment: 'prod' })).underway).toEqual([listed]);
  expect((await media(hub, { site: 'plant-7' })).underway).toEqual([]);
  expect((await media(hub, { environment: 'qa' })).underway).toEqual([]);
  expect((await media(hub, { visible: { whole: new Set(['prod']), parts: new Map() } })).underway).toEqual(
    [],
  );

  // The report of the import comes on another medium first.
  const lines = chain(agent, [
    { type: 'imported', release: { ...PROD, version: 2 }, at: formatTime(days(-2)) },
    applied('web', hub.first, days(-2)),
  ]);
  const other = await hub.stick('other');
  await report(other, agent, lines, 1, 1);
  await hub.importFrom(other, days(-2));
  expect((await media(hub)).underway).toEqual([{ ...listed, arrived: ['plant-8'] }]);

  await report(stick, agent, lines, 2, 2);
  await hub.importFrom(stick, days(-1));
  expect((await media(hub)).underway).toEqual([]);
});

test("a record after the medium's return, or for another fleet, changes nothing", async () => {
  await using hub = await shop();
  const agent = await enrolled(hub, 'plant-8/press-1', PROD);
  const lines = chain(agent, [applied('web', hub.first, days(-3))]);
  const stick = await filled(hub, 'stick');
  const late = await openFiles(stick);
  const departure = await departureOf(late, hub.store.fleet);
  await late[Symbol.asyncDispose]();
  await report(stick, agent, lines);
  await hub.importFrom(stick, days(-1));
  const record = async (path: string): Promise<void> => {
    await using medium = await openFiles(path);
    await recordDeparture(hub.store, await departureOf(medium, hub.store.fleet), NOW);
  };
  await recordDeparture(hub.store, departure, NOW);
  await expect(record(await filled(hub, 'foreign', { fleet: 'other' }))).rejects.toMatchObject({
    code: 'WRONG_FLEET',
  });
  await expect(record(await hub.stick('empty'))).rejects.toMatchObject({ code: 'MEDIUM_EMPTY' });
  expect((await media(hub)).underway).toEqual([]);
});

test('two media with the same content and time are separate, and return separately', async () => {
  await using hub = await shop();
  const agent = await enrolled(hub, 'plant-8/press-1', PROD);
  const lines = chain(agent, [applied('web', hub.first, days(-3)), applied('web', hub.second, days(-2))]);
  const sticks = [await filled(hub, 'one'), await filled(hub, 'two')] as const;
  for (const stick of sticks) {
    await using medium = await openFiles(stick);
    await recordDeparture(hub.store, await departureOf(medium, hub.store.fleet), days(-3));
  }
  const underway = async (): Promise<number> => (await media(hub)).underway.length;
  expect(await underway()).toBe(2);
  for (const [at, stick] of sticks.entries()) {
    await report(stick, agent, lines, at + 1, at + 1);
    await hub.importFrom(stick, days(-1 + at / 10));
    expect(await underway()).toBe(1 - at);
  }
});

test('a medium that the office cannot decrypt returns by its volume id, with the recorded contents', async () => {
  await using hub = await shop();
  const agent = await enrolled(hub, 'plant-8/press-1', PROD);
  const stick = await filled(hub, 'sealed');
  await using medium = await openFiles(stick);
  await recordDeparture(hub.store, await departureOf(medium, hub.store.fleet), days(-3));
  await rm(join(stick, MEDIUM_FILE));
  await report(stick, agent, chain(agent, [applied('web', hub.first, days(-2))]));
  await hub.importFrom(stick, days(-1));
  const { underway, arrivals } = await media(hub);
  expect(underway).toEqual([]);
  expect(arrivals[0]?.carried).toEqual({
    createdAt: formatTime(days(-4)),
    releases: ['prod/kiosk r2'],
    sites: ['plant-8'],
  });
});

test('of a medium that is written and recorded repeatedly, at most the last record is on its way', async () => {
  await using hub = await shop();
  const sticks = await Promise.all(['a', 'b'].map((name) => hub.stick(name)));
  const steps = fc.array(fc.record({ at: fc.nat({ max: 1 }), isRecorded: fc.boolean() }), { maxLength: 12 });
  let filling = 0;
  await fc.assert(
    fc.asyncProperty(steps, async (all) => {
      await hub.store.db.deleteFrom('medium_departure').execute();
      const last = new Map<number, string>();
      for (const { at, isRecorded } of all) {
        filling += 1;
        const createdAt = formatTime(new Date(days(-4).getTime() + filling * 1000));
        const path = sticks[at] ?? '';
        await writeTable(path, { createdAt });
        if (!isRecorded) continue;
        await using medium = await openFiles(path);
        await recordDeparture(hub.store, await departureOf(medium, hub.store.fleet), NOW);
        last.set(at, createdAt);
      }
      const { underway } = await media(hub);
      expect(underway.map(({ createdAt }) => createdAt).toSorted()).toEqual([...last.values()].toSorted());
    }),
    { numRuns: 20 },
  );
});
