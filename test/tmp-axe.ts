import { startDemo } from '../examples/demo/start-demo.ts';
import { axeFindings, startBrowser } from './integration/page/browser.ts';
import { signIn } from './integration/page/sign-in.ts';
import { rmSync, mkdirSync } from 'node:fs';
rmSync('/tmp/demo', { recursive: true, force: true }); mkdirSync('/tmp/demo');
const demo = await startDemo({ sites: 31, folder: '/tmp/demo', page: '/dev/shm/hub-programs/scheduler/scheduler/page/dist', port: 0, now: new Date('2026-11-21T08:00:00Z') });
const browser = await startBrowser('/usr/bin/chromium-headless-shell');
const tab = await signIn(browser, { url: demo.url, token: demo.reader, path: '/' }, { bypassCSP: true, viewport: { width: 1200, height: 800 } });
const times: Record<string, number> = {};
tab.page.on('console', (m) => { const r = /^(?:Measure )?(.*?) took ([\d.]+)ms/.exec(m.text()); if (r) times[r[1]!] = (times[r[1]!] ?? 0) + Number(r[2]); });
for (const v of ['/', '/workloads', '/workloads/oven-control', '/where?name=oven-control-host', '/compare?left=qa&right=prod', '/pipeline', '/rollouts', '/media', '/alarms', '/sessions', '/audit', '/search?q=scale', '/sites/plant-007/press-1/label-printer-host', '/sites/plant-005']) {
  await tab.page.goto(`${demo.url}/ui${v}`);
  await tab.page.getByRole('heading', { level: 1 }).waitFor();
  for (const chart of await tab.page.locator('.drawing').all()) await chart.locator('canvas').waitFor();
  await axeFindings(tab.page, ['html-lang-valid']);
  const n = await tab.page.evaluate(() => document.querySelectorAll('*').length);
  const t = Date.now();
  const ms = await tab.page.evaluate(async () => { const s = performance.now(); await (globalThis as any).axe.run({ resultTypes: ['violations'], performanceTimer: true }); return performance.now() - s; });
  console.log(v, n, Math.round(ms), Date.now() - t);
}
for (const [k, v] of Object.entries(times).sort((a, b) => b[1] - a[1]).slice(0, 30)) console.log(v.toFixed(0).padStart(6), k);
await browser.close(); await demo[Symbol.asyncDispose]();
