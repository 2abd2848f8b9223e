import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addDays, formatTime } from '#bundles/time';
import { buildPage } from '../../bundling/build-page.ts';
import { type Demo, startDemo } from '../../examples/demo/start-demo.ts';
import { describeWith } from '../harness/describe-with.ts';
import { temporaryDirectory } from '../harness/temporary-directory.ts';
import { axeFindings, scrollsSideways, startBrowser, type Tab } from './page/browser.ts';
import { signIn } from './page/sign-in.ts';

const NOW = new Date('2026-11-21T08:00:00Z');

const VIEWS = [
  ['sites', '/'],
  ['pipeline', '/pipeline'],
  ['rollouts', '/rollouts'],
  ['media', '/media'],
  ['alarms', '/alarms'],
  ['audit', '/audit'],
  ['search', '/search?q=scale'],
  ['package', '/sites/plant-007/press-1/label-printer-host'],
  ['site', '/sites/plant-005'],
  ['workloads', '/workloads'],
  ['workload', '/workloads/oven-control'],
  ['where', '/where?name=oven-control-host'],
  ['compare', '/compare?left=qa&right=prod'],
] as const;

describeWith(['chromium'], 'the demo', ({ chromium }) => {
  const world = new AsyncDisposableStack();
  let demo: Demo;
  let browser: Browser;

  beforeAll(async () => {
    const folder = world.use(await temporaryDirectory('demo'));
    const page = join(folder.path, 'page');
    await buildPage(page);
    demo = world.use(await startDemo({ sites: 31, folder: folder.path, page, port: 0, now: NOW }));
    browser = await startBrowser(chromium);
  });
  afterAll(async () => {
    await browser?.close();
    await world.disposeAsync();
  });

  const open = (options: Parameters<typeof signIn>[2] = {}): Promise<Tab> =>
    signIn(browser, { url: demo.url, token: demo.reader, path: '/' }, options);

  test('has no serious finding of axe in any view, light and dark, and fits a phone', async () => {
    // FLEET_SCREENSHOTS=docs/images takes the pictures of the documentation again.
    const pictures = process.env['FLEET_SCREENSHOTS'];
    if (pictures !== undefined) await mkdir(pictures, { recursive: true });
    await using seen = await open({ bypassCSP: true });
    for (const [name, path] of VIEWS) {
      await seen.page.setViewportSize({ width: 1200, height: 800 });
      await seen.page.goto(`${demo.url}/ui${path}`);
      await seen.page.getByRole('table').first().waitFor();
      for (const colorScheme of ['light', 'dark'] as const) {
        await seen.page.emulateMedia({ colorScheme });
        await seen.page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor();
        if (pictures !== undefined)
          await seen.page.screenshot({ path: join(pictures, `page-${name}-${colorScheme}.png`) });
        expect(await axeFindings(seen.page), `${name} ${colorScheme}`).toEqual([]);
      }
      await seen.page.setViewportSize({ width: 320, height: 640 });
      expect(await scrollsSideways(seen.page), name).toBe(false);
    }
    expect(seen.faults).toEqual([]);
  });

  test('shows months of history, each kind of trouble and a promotion that waits', async () => {
    await using tab = await open();
    const main = tab.page.getByRole('main');
    const words = (await main.textContent()) ?? '';
    for (const word of ['1 failed', '1 drifted', '2 never reported', '2 complies late', '2 stale'])
      expect(words).toContain(word);
    expect(words).toMatch(/dev to qa promoted.*qa to prod waiting.*soak/);
    await tab.page.goto(`${demo.url}/ui/sites/plant-005`);
    await tab.page.getByRole('region', { name: 'Events' }).first().waitFor();
    expect(await main.textContent()).toContain('received 89 d ago');
  });

  test('pauses a rollout with a reason, and resumes it', async () => {
    await using tab = await open();
    await tab.page.getByRole('link', { name: 'Rollouts' }).click();
    const stages = tab.page.getByRole('region', { name: 'Stages of prod/till' });
    await stages.getByRole('row', { name: /^pilot done/ }).waitFor();
    for (const [verb, after, more] of [
      ['Pause', 'Resume', demo.decider],
      ['Resume', 'Pause', undefined],
    ] as const) {
      await tab.page.getByRole('button', { name: `${verb} prod/till` }).click();
      const dialog = tab.page.getByRole('dialog');
      await dialog.getByLabel('Reason').fill('stock taking');
      if (more !== undefined) await dialog.getByLabel('Token of a person').fill(more);
      await dialog.getByRole('button', { name: verb, exact: true }).click();
      await tab.page.getByRole('button', { name: `${after} prod/till` }).waitFor();
    }
  });

  test('compares two environments, and goes from there to the past', async () => {
    await using tab = await open();
    const main = tab.page.getByRole('main');
    await tab.page.getByRole('link', { name: 'Compare' }).click();
    // The view before it has a field of the same label.
    await tab.page.getByRole('heading', { name: 'Compare' }).waitFor();
    await tab.page.getByLabel('Environment').fill('qa');
    await tab.page.getByLabel('With').fill('prod');
    await tab.page.keyboard.press('Enter');
    const oven = tab.page.getByRole('row', { name: /^press\/oven-control-host/ });
    await oven.locator('summary').click();
    expect(await oven.textContent()).toMatch(/6 agents run it|3 of 3 agents run it/);
    expect(await oven.locator('details').textContent()).toMatch(
      /-.*\/opt\/oven-control\/3[^]*\+.*\/opt\/oven-control\/2/,
    );

    // An assignment leads to where it runs, and the past can be asked for.
    await oven.getByRole('link', { name: 'oven-control-host' }).click();
    await tab.page.getByRole('row', { name: /^plant-001\/press-1/ }).waitFor();
    const past = formatTime(addDays(NOW, -60));
    await tab.page.getByLabel('Time').fill(past);
    await tab.page.keyboard.press('Enter');
    await expect.poll(() => main.textContent()).toContain(`At ${past}`);
    expect(await tab.page.getByRole('row', { name: /^plant-001\/press-1/ }).textContent()).toContain(
      '29 d ago',
    );
  });
});
