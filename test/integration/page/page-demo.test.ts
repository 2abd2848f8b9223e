import { mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { addDays, formatTime } from '#bundles/time';
import { approverPlaces, type Demo, startDemo } from '../../../examples/demo/start-demo.ts';
import { ADDRESSES, type Address } from '../../../scheduler/page/addresses.ts';
import { builtPage } from '../../harness/run/built-programs.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { LONG } from '../../harness/run/long.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import {
  axeFindings,
  cellsWithoutHeading,
  openTab,
  rowsWithoutLink,
  scrollsSideways,
  startBrowser,
  type Tab,
  tablesWithoutCsv,
  takeWebp,
  unreachedByTab,
} from './browser.ts';
import { signIn } from './sign-in.ts';

const NOW = new Date('2026-11-21T08:00:00Z');

/** An address of each view in the router, by its pattern. */
const VIEWS: Readonly<Record<Address, string>> = {
  '': '/',
  workloads: '/workloads',
  'workloads/:workload': '/workloads/oven-control',
  where: '/where?name=oven-control-host',
  compare: '/compare?left=qa&right=prod',
  pipeline: '/pipeline',
  rollouts: '/rollouts',
  media: '/media',
  alarms: '/alarms',
  sessions: '/sessions',
  audit: '/audit',
  platform: '/platform',
  'platform/edit': '/platform/edit?layer=base&kind=ClusterType',
  search: '/search?q=scale',
  values: '/values',
  'values/:site': '/values/plant-005',
  'values/select/sites': '/values/select/sites',
  sites: '/sites?tone=bad',
  'sites/:site/:agent/:assignment': '/sites/plant-007/press-1/label-printer-host',
  'sites/:site': '/sites/plant-005',
};

/** Name of the pictures of a view: 'page-workloads-workload'. */
const pictureOf = (address: Address): string =>
  `page-${address === '' ? 'overview' : address.replaceAll('/:', '-').replaceAll('/', '-')}`;

/** A desk: the window of the pictures of the documentation. */
const WIDE = { width: 1440, height: 900 };
/** A wall shows what a desk shows, with more room. */
const WALL = { width: 2560, height: 1440 };
/** A phone, a desk and a wall. */
const SIZES = [{ width: 360, height: 780 }, WIDE, WALL];
/** 1280 pixels at 400 % zoom (WCAG 2.2, 1.4.10). */
const NARROW = { width: 320, height: 640 };

describeWith(['chromium'], 'the demo', ({ chromium }) => {
  const world = new AsyncDisposableStack();
  let demo: Demo;
  let browser: Browser;
  let approver: ReturnType<typeof approverPlaces>;

  beforeAll(async () => {
    const folder = world.use(await temporaryDirectory('demo'));
    approver = approverPlaces(folder.path);
    const page = await builtPage(join(folder.path, 'page'));
    demo = world.use(await startDemo({ sites: 31, folder: folder.path, page, port: 0, now: NOW }));
    browser = await startBrowser(chromium);
  });
  afterAll(async () => {
    await browser?.close();
    await world.disposeAsync();
  });

  const open = (options: Parameters<typeof signIn>[2] = {}, path = '/'): Promise<Tab> =>
    signIn(browser, { url: demo.url, token: demo.reader, path }, options);

  /** Leads to another view as a link of the page does: a page that is loaded anew takes three times the CPU time. */
  const follow = async (page: Page, path: string): Promise<void> => {
    const title = await page.title();
    await page.evaluate((address) => {
      history.pushState(null, '', address);
      dispatchEvent(new PopStateEvent('popstate'));
    }, `/ui${path}`);
    await expect.poll(() => page.title()).not.toBe(title);
  };

  // FLEET_SCREENSHOTS=docs/images takes the pictures of the documentation again.
  const pictures = process.env['FLEET_SCREENSHOTS'];
  const picture = async ({ page }: Tab, name: string): Promise<void> => {
    if (pictures === undefined) return;
    await mkdir(pictures, { recursive: true });
    await writeFile(join(pictures, `${name}.webp`), await takeWebp(page));
  };

  // FLEET_VIEWS=<folder> takes pictures of whole views at each size, in both schemes.
  const views = process.env['FLEET_VIEWS'];
  const wholePicture = async ({ page }: Tab, name: string): Promise<void> => {
    if (views === undefined) return;
    await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
    await page.screenshot({ path: join(views, `${name}.png`), fullPage: true });
  };

  /** Looks at the view that the tab shows, at each size in both schemes, at 400 % zoom and by keyboard. */
  const examine = async (tab: Tab, name: string): Promise<void> => {
    const { page, faults } = tab;
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.getByText(/^(?:Loading the editor|The form is loading\.)$/).waitFor({ state: 'detached' });
    for (const chart of await page.locator('.drawing').all()) await chart.locator('canvas').waitFor();
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor();
      await picture(tab, `${name}-${colorScheme}`);
      for (const size of SIZES) {
        const looked = `${colorScheme} at ${size.width} pixels`;
        await page.setViewportSize(size);
        // A chart takes the new width a moment later.
        await expect.poll(() => scrollsSideways(page), { message: looked }).toBe(false);
        await wholePicture(tab, `${name}-${size.width}-${colorScheme}`);
        // The schemes differ in their colours only, and those do not depend on the size.
        if (!LONG && (size === WALL || (colorScheme === 'dark' && size !== WIDE))) continue;
        const rules = colorScheme === 'light' ? undefined : ['color-contrast'];
        expect(await axeFindings(page, rules), looked).toEqual([]);
      }
      await page.setViewportSize(WIDE);
    }
    await page.setViewportSize(NARROW);
    await expect.poll(() => scrollsSideways(page)).toBe(false);
    expect(await tablesWithoutCsv(page)).toEqual([]);
    expect(await cellsWithoutHeading(page)).toEqual([]);
    expect(await unreachedByTab(page)).toEqual([]);
    expect(await rowsWithoutLink(page)).toEqual([]);
    expect(faults).toEqual([]);
    await page.setViewportSize(WIDE);
  };

  describe('every view fits 360, 1440 and 2560 pixels and 400 % zoom, works by keyboard, has no serious finding of axe in either scheme, and each row of its tables leads on', () => {
    let tab: Tab;
    beforeAll(async () => {
      const visit = { url: demo.url, token: demo.decider, path: '/sessions' };
      tab = await signIn(browser, visit, { bypassCSP: true, viewport: WIDE });
    });
    afterAll(() => tab[Symbol.asyncDispose]());

    test.each(ADDRESSES)('/%s', async (address) => {
      await follow(tab.page, VIEWS[address]);
      await examine(tab, pictureOf(address));
    });

    test('an unknown address', async () => {
      await tab.page.goto(`${demo.url}/ui/nowhere`);
      await tab.page.getByRole('heading', { level: 1, name: 'No such view' }).waitFor();
      expect(await axeFindings(tab.page)).toEqual([]);
    });

    test('the sign-in', async () => {
      await using stranger = await openTab(browser, { bypassCSP: true, viewport: WIDE });
      await stranger.page.goto(`${demo.url}/ui/sign-in`);
      await examine(stranger, 'page-sign-in');
    });
  });

  test('on a phone a row is a card whose cells have the headings of their columns', async () => {
    await using tab = await open({ viewport: NARROW }, '/workloads');
    const cell = tab.page.getByRole('row', { name: /oven-control/ }).getByRole('cell');
    await cell.first().waitFor();
    const headings = await cell.evaluateAll((cells) =>
      cells.map((one) => getComputedStyle(one, '::before').content.replaceAll('"', '')),
    );
    expect(headings).toEqual(['dev', 'qa', 'prod']);
    const tops = await cell.evaluateAll((cells) => cells.map((one) => one.getBoundingClientRect().top));
    expect(tops).toEqual(tops.toSorted((a, b) => a - b));
    expect(new Set(tops).size).toBe(3);
    await tab.page.setViewportSize(WIDE);
    expect(await cell.first().evaluate((one) => getComputedStyle(one, '::before').content)).toBe('none');
  });

  test('raises the alarms of its scenario, and none about its own reports', async () => {
    const answer = await fetch(`${demo.url}/v1/alarms?limit=1000`, {
      headers: { authorization: `Bearer ${demo.reader}` },
    });
    const { alarms } = (await answer.json()) as { readonly alarms: readonly { readonly kind: string }[] };
    const kinds = new Set(alarms.map(({ kind }) => kind));
    expect([...kinds].filter((kind) => kind.startsWith('REPORT_'))).toEqual([]);
    expect(kinds).toContain('PACKAGE_FAILED');
  });

  test('has months of history, each kind of problem and a waiting promotion', async () => {
    await using tab = await open({}, '/sites');
    const main = tab.page.getByRole('main');
    await tab.page.getByRole('row').nth(1).waitFor();
    const words = (await main.textContent()) ?? '';
    for (const word of ['1 failed', '1 drifted', '2 never reported', '2 complies late', '2 stale'])
      expect(words).toContain(word);
    await tab.page.goto(`${demo.url}/ui/`);
    await expect
      .poll(() => main.textContent())
      .toMatch(/waiting.*dev to qa.*soak.*waiting.*qa to prod.*approvals/);
    await tab.page.goto(`${demo.url}/ui/sites/plant-005`);
    await tab.page.getByRole('region', { name: 'Timeline' }).waitFor();
    expect(await main.textContent()).toContain('received 89 d ago');
  });

  /** With the token that the tab has. */
  const decide = async ({ page }: Tab, what: string, reason: string): Promise<void> => {
    await page.getByRole('button', { name: what }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill(reason);
    await dialog.locator('button[type=submit]').click();
    await dialog.waitFor({ state: 'detached' });
  };

  test('shows what each decision would change before it is made: versions, lines, agents and sites', async () => {
    await using tab = await open();
    const { page, faults } = tab;
    await page.getByRole('link', { name: 'Pipeline' }).click();
    const gate = page.getByRole('region', { name: 'Gate qa to prod' });
    await expect.poll(() => gate.textContent()).toMatch(/oven-control 3\.0\.0[0-9a-f]{7}, now 2\.0\.0/);
    await expect
      .poll(() => gate.textContent())
      .toContain('Amina Saleh, 2 d ago: Let ovens cool down between two shifts');
    await expect.poll(() => gate.textContent()).toContain('In qa since 2 d ago');
    const dialog = page.getByRole('dialog');
    const close = async (): Promise<void> => {
      await dialog.getByRole('button', { name: 'Cancel' }).click();
      await dialog.waitFor({ state: 'detached' });
    };
    for (const [button, title] of [
      ['Reject qa to prod', 'Does not come to prod'],
      ['Pause qa to prod', 'Stays away from prod until it is resumed'],
    ] as const) {
      await page.getByRole('button', { name: button }).click();
      const list = dialog.getByRole('region', { name: title });
      await list.waitFor();
      const text = (await list.textContent()) ?? '';
      expect(text).toContain(`${title}: 1 other version`);
      expect(text).toMatch(/oven-control on press, other version: 2\.0\.0 to 3\.0\.0, at \d+ agents/);
      expect(text).toMatch(/prod\/press has 16 agents at 16 sites: plant-001/);
      await list.locator('summary').first().click();
      expect(await list.locator('details').first().textContent()).toMatch(
        /-.*\/opt\/oven-control\/2[^]*\+.*\/opt\/oven-control\/3/,
      );
      await close();
    }
    await page.getByRole('button', { name: 'Take back prod/till' }).click();
    const back = dialog.getByRole('region', { name: 'Changes back at the agents that have it' });
    await expect
      .poll(() => back.textContent())
      .toMatch(/scale-reader on till, other version: 3\.0\.0 to 2\.0\.0/);
    await close();
    expect(faults).toEqual([]);
  });

  test('shows what the next medium of a channel carries, and its size', async () => {
    await using tab = await open({}, '/media');
    const next = tab.page.getByRole('region', { name: 'What the next media carry' });
    await expect
      .poll(() => next.textContent())
      .toMatch(
        /prod\/till release \d+.*(bytes|KiB) for \d+ agents at \d+ sites.*scale-reader 3\.0\.0 \([0-9a-f]{7}\) new there/,
      );
    expect(await next.textContent()).toMatch(/Nothing is left out: what [^]* not known/);
    expect(tab.faults).toEqual([]);
  });

  test('opens the packages of a site down to their objects, with the lines that drifted', async () => {
    await using tab = await open({}, '/sites/plant-007');
    const { page, faults } = tab;
    await page.getByText('Packages of press-1, down to their objects').click();
    await page.locator('details.package > summary', { hasText: 'label-printer-host' }).click();
    const tree = page.locator('details.package .tree').first();
    await expect
      .poll(() => tree.textContent())
      .toMatch(/Directories 1 1 drifted\/opt\/label-printer\/2 mode mode: 0755/);
    expect(await tree.locator('pre').first().textContent()).toMatch(/-  mode: 0755\n\+  mode: 0777\n/);
    await tree.getByRole('link', { name: 'Health, update and roll-back' }).click();
    await page.getByRole('heading', { name: 'label-printer-host at plant-007/press-1' }).waitFor();
    expect(faults).toEqual([]);
  });

  test('pauses a rollout with a reason, resumes, advances and rolls it back', async () => {
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
    await decide(tab, 'Advance prod/till', 'all shops need the new scales');
    await stages.getByRole('row', { name: /^all running/ }).waitFor();
    await decide(tab, 'Take back prod/till', 'the scales are wrong');
    await tab.page.getByRole('button', { name: 'Take back prod/till' }).waitFor({ state: 'detached' });
  });

  test('filters the audit log by person and entry, with counts, and saves what is shown as CSV', async () => {
    await using tab = await open({}, '/audit');
    const { page } = tab;
    const who = page.getByLabel('Who', { exact: true });
    const [, choice = ''] = await who.locator('option').allTextContents();
    await who.selectOption(choice);
    const count = /\((\d+)\)$/.exec(choice)?.[1] ?? '';
    await page
      .getByRole('status')
      .getByText(new RegExp(`^${count} (of \\d+ )?entries`))
      .waitFor();
    await page.getByLabel('Sort by').selectOption('oldest');
    await expect.poll(() => page.url()).toMatch(/person=.*sort=oldest/);
    const saved = page.waitForEvent('download');
    await page.getByRole('button', { name: /CSV/ }).first().click();
    expect((await saved).suggestedFilename()).toMatch(/\.csv$/);
  });

  test('rolls back one assignment to an earlier release with a reason, which the audit log contains', async () => {
    await using tab = await open();
    const { page, faults } = tab;
    await page.goto(`${demo.url}/ui/sites/plant-007/press-1/oven-control-host`);
    await page.getByRole('button', { name: 'Roll back oven-control-host in prod/press' }).click();
    const dialog = page.getByRole('dialog');
    const to = await dialog.getByLabel('At all agents of prod/press, to').inputValue();
    await dialog.getByLabel('Reason').fill('the ovens run hot');
    await dialog.getByLabel('Token of a person').fill(demo.decider);
    await dialog.getByRole('button', { name: 'Roll back', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Audit log' }).click();
    const entry = page.getByRole('row', { name: /the ovens run hot/ });
    await entry.waitFor();
    expect(await entry.textContent()).toMatch(
      new RegExp(`roll-back.*oven-control-host.*to release ${to}.*visitor`),
    );

    // It may have the newest again.
    await page.goto(`${demo.url}/ui/sites/plant-007/press-1/oven-control-host`);
    await page.getByRole('button', { name: 'Roll back oven-control-host in prod/press' }).click();
    await dialog.getByLabel('At all agents of prod/press, to').selectOption('');
    await dialog.getByLabel('Reason').fill('the ovens are cool');
    await dialog.getByRole('button', { name: 'Roll back', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByRole('link', { name: 'Audit log' }).click();
    await page.getByRole('row', { name: /resume.*the ovens are cool/ }).waitFor();
    expect(faults).toEqual([]);
  });

  test('a token that may decide asks for no other, and environments that follow each other are compared by a click', async () => {
    await using tab = await signIn(browser, { url: demo.url, token: demo.decider, path: '/alarms' }, {});
    const { page, faults } = tab;
    await page
      .getByRole('button', { name: /^Acknowledge PACKAGE_FAILED/ })
      .first()
      .click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('the programs get their limits today');
    expect(await dialog.getByLabel('Token of a person').count()).toBe(0);
    await dialog.getByRole('button', { name: 'Acknowledge', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText(/Acknowledged by visitor.*the programs get their limits today/).waitFor();
    await page.getByLabel('Handled').selectOption('acknowledged (1)');
    await page
      .getByRole('status')
      .getByText(/^1 of \d+ causes/)
      .waitFor();

    await page.getByLabel('Handled').selectOption('');
    await page
      .getByRole('button', { name: /^Silence AGENT_LATE/ })
      .first()
      .click();
    await dialog.getByLabel('For').selectOption({ label: 'until Monday, 2026-11-23 08:00 UTC' });
    await dialog.getByLabel('Reason').fill('nobody is there at the weekend');
    await dialog.getByRole('button', { name: 'Silence', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByLabel('Handled').selectOption('silenced (1)');
    await page.getByText(/Silenced by visitor.*nobody is there/).waitFor();
    expect(await page.locator('time[datetime="2026-11-23T08:00:00Z"]').count()).toBeGreaterThan(0);

    await page.getByRole('link', { name: 'Compare' }).click();
    await page.getByRole('link', { name: 'qa and prod' }).click();
    await page.getByRole('row', { name: /^press\/oven-control-host/ }).waitFor();
    expect(faults).toEqual([]);
  });

  test('has values of sites by region and line, one that a person gave, and changes that wait for review', async () => {
    await using tab = await open({}, '/values');
    const { page, faults } = tab;
    const main = page.getByRole('main');
    await page.getByText('jon', { exact: false }).first().waitFor();
    expect(await main.textContent()).toMatch(/rye bread since Monday[^]*plant-005[^]*maxCelsius/);
    await page.goto(`${demo.url}/ui/values/plant-005`);
    await expect
      .poll(() => main.textContent())
      .toMatch(/Gateway of the site[^]*by ines[^]*Highest temperature \(°C\)[^]*Inherited: 260/);
    expect(faults).toEqual([]);
  });

  test('compares two environments, and links to the past', async () => {
    await using tab = await open();
    const main = tab.page.getByRole('main');
    await tab.page.getByRole('link', { name: 'Compare' }).click();
    // The view before it has a field of the same label.
    await tab.page.getByRole('heading', { name: 'Compare' }).waitFor();
    await tab.page.getByLabel('Environment', { exact: true }).selectOption('qa');
    await tab.page.getByLabel('With').selectOption('prod');
    await tab.page.getByRole('button', { name: 'Compare' }).click();
    const same = tab.page.getByRole('row', { name: /^till\/label-printer-host same/ });
    await tab.page.getByRole('link', { name: 'Show all' }).click();
    await same.waitFor();
    await tab.page.getByRole('link', { name: 'Show those that differ' }).click();
    await same.waitFor({ state: 'detached' });
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
    await expect.poll(() => main.textContent()).toContain(`At ${past.slice(0, 16).replace('T', ' ')} UTC`);
    expect(await tab.page.getByRole('row', { name: /^plant-001\/press-1/ }).textContent()).toContain(
      '29 d ago',
    );
  });

  test('a person reads from the overview what the promotion to prod changes, approves it by the command shown, and promotes it', async () => {
    await using tab = await signIn(browser, { url: demo.url, token: demo.decider, path: '/' }, {});
    const { page, faults } = tab;
    await page.getByRole('link', { name: 'qa to prod: an approval' }).click();
    const gate = page.getByRole('region', { name: 'Gate qa to prod' });
    await expect.poll(() => gate.textContent()).toMatch(/approvals 1 by lars, wanted 2, not by the author/);
    const ring = gate.getByRole('listitem').filter({ hasText: 'approvals' }).locator('.part');
    expect(await ring.getAttribute('stroke-dasharray')).toBe('50 100');
    await page.getByRole('button', { name: 'Approve qa to prod' }).click();
    const dialog = page.getByRole('dialog');
    await expect
      .poll(() => dialog.textContent())
      .toMatch(/oven-control on press, other version: 2\.0\.0 to 3\.0\.0, at \d+ agents/);
    const shown = (await dialog.locator('pre').last().textContent()) ?? '';
    const [, candidate = ''] = /--candidate (sha256:[0-9a-f]{64}) --key your\.key/.exec(shown) ?? [];
    const { config, key } = approver;
    const words = ['approve', '--to', 'prod', '--candidate', candidate, '--config', config, '--key', key];
    const about = ['--person', 'carla', '--reason', 'the ovens of qa are content', '--now', formatTime(NOW)];
    const approved = await runScheduler(dirname(config), [...words, ...about]);
    expect(approved.code, approved.stderr).toBe(0);
    await page.goto(`${demo.url}/ui/pipeline`);
    await decide(tab, 'Promote qa to prod', 'two people want it');
    // The office builds it.
    await page.goto(`${demo.url}/ui/workloads/oven-control`);
    await expect
      .poll(() => page.getByRole('row', { name: /^3\.0\.0/ }).textContent(), { timeout: 30_000 })
      .toMatch(/prod\/press release \d+/);
    expect(faults).toEqual([]);
  });
});
