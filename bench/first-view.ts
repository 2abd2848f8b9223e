/**
 * `npm run bench first-view`: how long the page takes in Chromium from its address to the picture of all sites, and how many bytes it gets for
 * that, with an empty cache and with one that has the scripts. Sites have 50 assignments each, and the page's token is in the tab. On SQLite,
 * or with FLEET_BENCH_DATABASE=postgresql on a server of its own, or on the database of a URL. FLEET_BENCH_SITES (10000), FLEET_BENCH_ROUNDS (20), FLEET_BENCH_STORE (a
 * folder that keeps the fleets for the next run).
 */
import type { AddressInfo } from 'node:net';
import { loadavg } from 'node:os';
import { join } from 'node:path';
import { type BrowserContext, chromium } from 'playwright-core';
import { addDays } from '../bundles/time.ts';
import { buildPage } from '../bundling/build-page.ts';
import { createToken } from '../scheduler/hub/sites/tokens/create-token.ts';
import { findPart } from '../test/harness/parts.ts';
import { startPostgresql } from '../test/harness/neighbours/postgresql.ts';
import { temporaryDirectory } from '../test/harness/run/temporary-directory.ts';
import { ASSIGNMENTS, NOW, openFleetHub } from './hub/fleet-hub.ts';
import { openServer } from './hub/fleet-server.ts';
import { figure, formatTable } from './table.ts';

const SITES = Number(process.env['FLEET_BENCH_SITES'] ?? 10_000);
const ROUNDS = Number(process.env['FLEET_BENCH_ROUNDS'] ?? 20);

const part = (name: 'chromium' | 'postgresql'): string => {
  const found = findPart(name);
  if (!found.present) throw new Error(found.reason);
  return found.path;
};

/** One visit: ms to the picture of all sites, and bytes of the API's answers and of all answers. */
type View = { readonly ms: number; readonly json: number; readonly all: number };

/** Runs in the tab before the page and records when all sites are drawn. */
const watch = (token: string): string => `
  sessionStorage.setItem('fleet-ferry-token', ${JSON.stringify(token)});
  new MutationObserver((_, observer) => {
    if (document.querySelector('.cells canvas[style]') === null) return;
    observer.disconnect();
    globalThis.drawnMs = performance.now();
  }).observe(document, { childList: true, subtree: true, attributes: true });`;

/** Time of the picture, and transferred bytes of bodies; bodies from the cache count zero. */
const MEASURE = `(() => {
  const entries = [...performance.getEntriesByType('navigation'), ...performance.getEntriesByType('resource')];
  const sum = (some) => some.reduce((total, one) => total + (one.transferSize > 0 ? one.encodedBodySize : 0), 0);
  const json = entries.filter(({ name }) => new URL(name).pathname.startsWith('/v1/'));
  return { ms: globalThis.drawnMs, json: sum(json), all: sum(entries) };
})()`;

const view = async (context: BrowserContext, url: string): Promise<View> => {
  const page = await context.newPage();
  await page.goto(`${url}/ui/`);
  await page.locator('.cells canvas[style]').first().waitFor();
  const view = await page.evaluate(MEASURE);
  await page.close();
  return view as View;
};

await using temporary = await temporaryDirectory('bench-first-view');
const kept = process.env['FLEET_BENCH_STORE'] ?? temporary.path;
const DATABASE = process.env['FLEET_BENCH_DATABASE'];
await using postgresql =
  DATABASE === 'postgresql' ? await startPostgresql(part('postgresql'), { fast: false }) : undefined;
const database = postgresql ? postgresql.url(await postgresql.create()) : DATABASE;
await using fleet = await openFleetHub(SITES, { folder: join(kept, `${SITES}`), database });
const built = join(temporary.path, 'page');
await buildPage(built);
const server = await openServer(fleet.hub, built);
await server.listen({ host: '127.0.0.1', port: 0 });
const url = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
const terms = { note: undefined, expires: addDays(NOW, 30), now: NOW };
const { token } = await createToken(fleet.hub.store, { scope: 'reader' }, terms);
const browser = await chromium.launch({ executablePath: part('chromium'), args: ['--no-sandbox'] });
const [empty, cached]: [View[], View[]] = [[], []];
for (let round = 0; round < ROUNDS; round += 1) {
  // The page's content security policy also blocks scripts of tests.
  const context = await browser.newContext({ bypassCSP: true });
  await context.addInitScript({ content: watch(token) });
  empty.push(await view(context, url));
  cached.push(await view(context, url));
  await context.close();
}
await browser.close();
await server.close();

const line = (name: string, views: readonly View[]): readonly string[] => {
  const times = views.map(({ ms }) => ms).toSorted((a, b) => a - b);
  const at = (share: number): number => times[Math.ceil(times.length * share) - 1] ?? Number.NaN;
  const { json = 0, all = 0 } = views.at(-1) ?? {};
  return [
    name,
    figure(views[0]?.ms ?? 0),
    figure(at(0.5)),
    figure(at(0.95)),
    figure(json / 1000),
    figure(all / 1000),
  ];
};
process.stdout.write(`
First view of ${SITES} sites with ${ASSIGNMENTS} assignments each, on ${DATABASE === undefined ? 'SQLite' : 'PostgreSQL'}; ${ROUNDS} rounds, load ${loadavg().map(figure).join(' ')}.

${formatTable(
  ['cache', 'first ms', 'median ms', 'p95 ms', 'JSON kB', 'all kB'],
  [line('empty', empty), line('has the scripts', cached)],
)}
`);
process.exit();
