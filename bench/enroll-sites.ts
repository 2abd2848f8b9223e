/**
 * `npm run bench enroll-sites`: requests of many sites on one medium: `sites enroll` as users run it, `sites renew` of all statements, and the
 * first round in which `serve` copies the statements of the database to a layout that lacks them. FLEET_BENCH_SITES (2000), one agent a site,
 * 20 assignments, 4 layers. Written bytes are whole pages, of the medium too.
 */
import { rm } from 'node:fs/promises';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { build } from '../scheduler/build/build.ts';
import { createMetrics } from '../scheduler/hub/http/metrics/metrics.ts';
import { createMirror } from '../scheduler/hub/serve/mirror-sites.ts';
import { openStore } from '../scheduler/hub/store/open-store.ts';
import { openKeyDirectory } from '../scheduler/keys/key-directory.ts';
import { initDevRoot } from '../scheduler/keys/root/init-dev-root.ts';
import { acceptRequests } from '../test/harness/fleets/accept-requests.ts';
import { temporaryDirectory } from '../test/harness/run/temporary-directory.ts';
import { writeFiles } from '../test/scheduler/file-tree.ts';
import { ask, testAgent } from '../test/scheduler/hub/test-hub.ts';
import { measure } from './measure.ts';
import { CHANNEL, labelsOf, layeredPlatform } from './site-layers/layered-platform.ts';
import { figure, formatTable } from './table.ts';

const SITES = Number(process.env['FLEET_BENCH_SITES'] ?? 2000);
const ASSIGNMENTS = 20;
const FLEET = 'bench';
const NOW = new Date('2026-11-21T08:00:00Z');

await using folder = await temporaryDirectory('bench-enroll-sites');
const at = (...parts: readonly string[]): string => join(folder.path, ...parts);
await writeFiles(folder.path, {
  ...layeredPlatform(FLEET, ASSIGNMENTS),
  'fleet-scheduler.yaml': `platform: ${at('platform')}\nkeys: ${at('keys')}\nlayout: ${at('layout')}\ndb: ${at('hub.db')}\n`,
});
await initDevRoot(at('keys'), FLEET, NOW);
const keys = await openKeyDirectory(at('keys'));
const { signal } = new AbortController();
const platform = { platform: at('platform'), maps: [], cacheDirectory: at('cache') };
await build({ ...platform, layout: at('layout'), keys, now: NOW, signal });
for (let index = 0; index < SITES; index += 1)
  await ask(at('stick'), testAgent(`plant-${index}/edge`), {
    fleet: FLEET,
    channel: CHANNEL,
    labels: labelsOf(index),
  });

const rows: string[][] = [];
const add = (what: string, wall: number, cpu: number, memory: number, bytes?: number): void => {
  rows.push([
    what,
    figure(wall),
    figure(cpu),
    ((cpu / SITES) * 1000).toFixed(1),
    bytes === undefined ? '' : figure(bytes / SITES / 1000),
    figure(memory),
  ]);
};
const run = async (what: string, words: readonly string[]): Promise<void> => {
  const program = join(import.meta.dirname, '../scheduler/fleet-scheduler.js');
  const config = ['--config', at('fleet-scheduler.yaml'), '--now', NOW.toISOString()];
  const used = await measure([process.execPath, program, 'sites', ...words, ...config]);
  add(what, used.wallSeconds, used.cpuSeconds, used.peakMiB, used.writtenBytes);
};

await run('sites enroll', ['enroll', at('stick'), ...(await acceptRequests(at('stick')))]);
await run('sites renew', ['renew', '--within', '3650']);

await rm(at('layout'), { recursive: true });
await using store = await openStore(at('hub.db'), FLEET);
const clock = (): Date => NOW;
const mirror = createMirror({
  hub: { keys, store, layout: at('layout'), [Symbol.asyncDispose]: async () => {} },
  clock,
  log: pino({ level: 'silent' }),
  metrics: createMetrics(store.db, clock),
});
const [start, cpu] = [performance.now(), process.cpuUsage()];
const left = await mirror(signal);
if (left !== 0) throw new Error(`${left} sites are not in the layout`);
const { user, system } = process.cpuUsage(cpu);
add(
  'first round of serve',
  (performance.now() - start) / 1000,
  (user + system) / 1e6,
  process.memoryUsage.rss() / 2 ** 20,
);

const header = ['what', 'wall s', 'cpu s', 'cpu ms a site', 'KB written a site', 'peak MiB'];
process.stdout.write(`${formatTable(header, rows)}\n\n${SITES} sites; load ${loadavg()[0]?.toFixed(1)}\n`);
