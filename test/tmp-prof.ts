import { startDemo } from '../examples/demo/start-demo.ts';
import { axeFindings, startBrowser, openTab, unreachedByTab, scrollsSideways } from './integration/page/browser.ts';
import { signIn } from './integration/page/sign-in.ts';
import { rmSync, mkdirSync } from 'node:fs';
rmSync('/tmp/demo', { recursive: true, force: true }); mkdirSync('/tmp/demo');
const t0 = process.cpuUsage();
const demo = await startDemo({ sites: Number(process.env['SITES'] ?? 31), folder: '/tmp/demo', page: '/dev/shm/hub-programs/scheduler/scheduler/page/dist', port: 0, now: new Date('2026-11-21T08:00:00Z') });
const u = process.cpuUsage(t0); console.log('demo start cpu', (u.user + u.system) / 1e6);
const browser = await startBrowser('/usr/bin/chromium-headless-shell');
const tab = await signIn(browser, { url: demo.url, token: demo.reader, path: '/' }, { bypassCSP: true, viewport: { width: 1200, height: 800 } });
const cdp = await tab.page.context().newCDPSession(tab.page);
await cdp.send('Performance.enable', { timeDomain: 'threadTicks' } as never);
let last: Record<string, number> = {};
const totals: Record<string, Record<string, number>> = {};
const lap = async (name: string) => {
  const m = Object.fromEntries((await cdp.send('Performance.getMetrics')).metrics.map((x: { name: string; value: number }) => [x.name, x.value])) as Record<string, number>;
  const t = (totals[name] ??= {});
  for (const k of ['TaskDuration', 'ScriptDuration', 'LayoutDuration', 'RecalcStyleDuration', 'V8CompileDuration', 'DevToolsCommandDuration', 'ProcessTime']) {
    let d = (m[k] ?? 0) - (last[k] ?? 0); if (d < 0) d = m[k] ?? 0;
    t[k] = (t[k] ?? 0) + d;
  }
  last = m;
};
await lap('signin');
for (const v of ['/', '/workloads', '/workloads/oven-control', '/where?name=oven-control-host', '/compare?left=qa&right=prod', '/pipeline', '/rollouts', '/media', '/alarms', '/sessions', '/audit', '/search?q=scale', '/sites/plant-007/press-1/label-printer-host', '/sites/plant-005']) {
  await tab.page.goto(`${demo.url}/ui${v}`);
  await tab.page.getByRole('heading', { level: 1 }).waitFor();
  for (const chart of await tab.page.locator('.drawing').all()) await chart.locator('canvas').waitFor();
  await lap('goto');
  await tab.page.emulateMedia({ colorScheme: 'light' }); await tab.page.locator('html[data-mantine-color-scheme=light]').waitFor(); await lap('light');
  await axeFindings(tab.page); await lap('axe all');
  await tab.page.emulateMedia({ colorScheme: 'dark' }); await tab.page.locator('html[data-mantine-color-scheme=dark]').waitFor(); await lap('dark');
  await axeFindings(tab.page, ['color-contrast']); await lap('axe contrast');
  await tab.page.setViewportSize({ width: 320, height: 640 }); await scrollsSideways(tab.page); await lap('narrow');
  await unreachedByTab(tab.page); await lap('tab');
  await tab.page.setViewportSize({ width: 1200, height: 800 }); await lap('wide');
}
for (const [n, t] of Object.entries(totals)) console.log(n.padEnd(14), Object.entries(t).map(([k, v]) => `${k.replace('Duration', '')} ${v.toFixed(2)}`).join('  '));
await browser.close(); await demo[Symbol.asyncDispose]();
