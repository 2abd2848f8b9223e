import { type Logger, pino } from 'pino';
import { expect, test } from 'vitest';
import { FleetError } from '#bundles/errors';
import { findReference, openLayout } from '#bundles/formats/layout/layout';
import { siteSigner } from '../../../../scheduler/hub/sites/site-signer.ts';
import { issueSite } from '../../../../scheduler/hub/sites/issue-site.ts';
import { lockLayout } from '../../../../scheduler/release/write/lock-layout.ts';
import { siteReference } from '../../../../scheduler/load/releases/references.ts';
import { createMetrics } from '../../../../scheduler/hub/http/metrics/metrics.ts';
import { logFailure } from '../../../../scheduler/hub/serve/log-failure.ts';
import { createMirror, type PublishSites } from '../../../../scheduler/hub/serve/mirror-sites.ts';
import { repeat } from '../../../../scheduler/hub/serve/repeat.ts';
import { NOW, type TestHub, testHub } from '../test-hub.ts';

const signal = new AbortController().signal;
const clock = () => NOW;

const mirrorOf = (hub: TestHub, publish?: PublishSites, log: Logger = pino({ level: 'silent' })) =>
  createMirror({
    hub,
    clock,
    publish,
    log,
    metrics: createMetrics(hub.store.db, clock),
    lockWaitMs: 1,
  });

const issue = async (hub: TestHub, site: string) => {
  const signer = await siteSigner(hub);
  await hub.store.transact((tx) => issueSite(tx, site, signer, NOW));
};

const isLaidOut = async (hub: TestHub, site: string) =>
  findReference(await openLayout(hub.layout), siteReference(site)) !== undefined;

test('each site statement is written to the layout and published once', async () => {
  await using hub = await testHub();
  await issue(hub, 'plant-7');
  await issue(hub, 'plant-8');
  const published: string[] = [];
  const mirror = mirrorOf(hub, async (sites) => {
    published.push(...sites);
    return new Map();
  });
  expect(await mirror(signal)).toBe(0);
  expect(await isLaidOut(hub, 'plant-7')).toBe(true);
  expect(await mirror(signal)).toBe(0);
  expect(published).toEqual(['plant-7', 'plant-8']);
  await issue(hub, 'plant-8');
  await mirror(signal);
  expect(published).toEqual(['plant-7', 'plant-8', 'plant-8']);
});

test('a site statement delayed by a build or an unreachable registry is published later, and delays no other site', async () => {
  await using hub = await testHub();
  await issue(hub, 'plant-7');
  await issue(hub, 'plant-8');
  let away = true;
  const asked: (readonly string[])[] = [];
  const mirror = mirrorOf(hub, async (sites) => {
    asked.push(sites);
    if (asked.length === 1) throw new FleetError('REGISTRY_UNREACHABLE', 'nothing listens there');
    return new Map(away ? [['plant-7', new FleetError('REGISTRY_REFUSED', 'not this one')]] : []);
  });
  {
    using _ = await lockLayout(hub.layout, 'build', NOW);
    expect(await mirror(signal)).toBe(2);
  }
  expect(asked).toEqual([]);
  expect(await mirror(signal)).toBe(2);
  expect(await mirror(signal)).toBe(1);
  expect(await isLaidOut(hub, 'plant-8')).toBe(true);
  away = false;
  expect(await mirror(signal)).toBe(0);
  expect(asked).toEqual([['plant-7', 'plant-8'], ['plant-7', 'plant-8'], ['plant-7']]);
});

test('a site of which the layout has a newer statement is refused, and the others are written in the same round', async () => {
  await using hub = await testHub();
  await issue(hub, 'plant-7');
  const site = await hub.store.db.selectFrom('site').selectAll().executeTakeFirstOrThrow();
  await issue(hub, 'plant-7');
  expect(await mirrorOf(hub)(signal)).toBe(0);
  // The database is put back to its copy of before.
  await hub.store.db.updateTable('site').set(site).where('name', '=', 'plant-7').execute();
  await issue(hub, 'plant-8');
  const published: string[] = [];
  const mirror = mirrorOf(hub, async (sites) => {
    published.push(...sites);
    return new Map();
  });
  expect(await mirror(signal)).toBe(1);
  expect(published).toEqual(['plant-8']);
  expect(await isLaidOut(hub, 'plant-8')).toBe(true);
});

test('while a build holds the layout, one warning has the number of waiting sites, and a site with an error of its own is named', async () => {
  await using hub = await testHub();
  for (const site of ['plant-7', 'plant-8', 'plant-9']) await issue(hub, site);
  const lines: { readonly level: number; readonly code?: string; readonly site?: string; sites?: number }[] =
    [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(JSON.parse(line)) });
  const refused = new Map([['plant-8', new FleetError('REGISTRY_REFUSED', 'not this one')]]);
  const mirror = mirrorOf(hub, async () => refused, log);
  {
    using _ = await lockLayout(hub.layout, 'build', NOW);
    expect(await mirror(signal)).toBe(3);
  }
  expect(lines).toMatchObject([{ code: 'BUSY', sites: 3 }]);
  lines.length = 0;
  expect(await mirror(signal)).toBe(1);
  expect(lines.filter(({ code }) => code !== undefined)).toMatchObject([
    { code: 'REGISTRY_REFUSED', site: 'plant-8' },
  ]);
});

test('a database that does not answer ends neither the mirror nor its hub, and is logged', async () => {
  await using hub = await testHub();
  await issue(hub, 'plant-7');
  const lines: string[] = [];
  const log = pino({ level: 'warn' }, { write: (line) => void lines.push(line) });
  await hub.store.db.schema.alterTable('site').renameTo('elsewhere').execute();
  await using mirror = repeat(mirrorOf(hub), 3_600_000, logFailure(log, 'reading sites', 'not published'));
  await expect.poll(() => lines.join('')).toContain('reading sites');
  await hub.store.db.schema.alterTable('elsewhere').renameTo('site').execute();
  mirror.wake();
  await expect.poll(() => isLaidOut(hub, 'plant-7')).toBe(true);
});
