import { readFile } from 'node:fs/promises';
import type { Browser, Page, Request } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { describeWith } from '../../harness/run/describe-with.ts';
import { openTab, scrollsSideways, startBrowser, type Tab } from './browser.ts';
import { signIn } from './sign-in.ts';
import { hand, join } from '../../scheduler/hub/serve/test-server.ts';
import { applied, chain, reportOf, testAgent } from '../../scheduler/hub/test-hub.ts';
import { HOSTILE, type HubPage, startHubPage } from './hub-page.ts';

/** The page of the hub in a real browser. */
describeWith(['chromium'], 'the page', ({ chromium }) => {
  let hub: HubPage;
  let browser: Browser;
  let token: string;
  /** The tab that most tests use one after the other, signed in, and its page. */
  let tab: Tab;
  let page: Page;

  beforeAll(async () => {
    hub = await startHubPage();
    token = await hub.made.reader();
    browser = await startBrowser(chromium);
    tab = await signedIn('/sessions');
    ({ page } = tab);
  });
  afterAll(async () => {
    await browser?.close();
    await hub?.[Symbol.asyncDispose]();
  });

  afterEach(() => expect(tab.faults.splice(0)).toEqual([]));

  const visit = async (path: string): Promise<void> => {
    await page.goto(`${hub.url}/ui${path}`);
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
  };
  const signedIn = (path: string, options: Parameters<typeof openTab>[1] = {}): Promise<Tab> =>
    signIn(browser, { url: hub.url, token, path }, options);

  test('asks for a token, shows why one is refused, and returns to the requested address', async () => {
    await using tab = await openTab(browser);
    const { page, faults } = tab;
    await page.goto(`${hub.url}/ui/sites/alpha-failed`);
    const field = page.getByLabel('Token', { exact: true });
    await field.fill('ffr_nonsense');
    await field.press('Enter');
    expect(await page.getByRole('alert').textContent()).toContain('Not signed in');
    await field.fill(token);
    await field.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'Site alpha-failed' }).waitFor();
    expect(page.url()).toBe(`${hub.url}/ui/sites/alpha-failed`);
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Site alpha-failed' }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await field.waitFor();
    expect(await page.evaluate(() => Object.keys(globalThis.sessionStorage))).toEqual([]);
    expect(faults).toEqual([]);
  });

  test('never returns to an address of another site', async () => {
    await using tab = await openTab(browser);
    await tab.page.goto(`${hub.url}/ui/sign-in?to=${encodeURIComponent('//elsewhere.example/')}`);
    await tab.page.getByLabel('Token', { exact: true }).fill(token);
    await tab.page.getByRole('button', { name: 'Sign in' }).click();
    await tab.page.getByRole('heading', { level: 1, name: 'Fleet acme' }).waitFor();
    expect(new URL(tab.page.url()).origin).toBe(hub.url);
  });

  test('names the commands for chosen sites, which stay chosen when a filter removes them', async () => {
    await visit('/sites');
    await page.getByRole('checkbox', { name: 'Choose alpha-failed' }).check();
    await page.getByRole('checkbox', { name: 'Choose alpha-drifted' }).check();
    const bulk = page.getByRole('region', { name: 'Chosen sites' });
    const commands = bulk.locator('pre');
    expect(await commands.textContent()).toBe(
      'fleet-export create --from releases --site alpha-drifted --site alpha-failed --to /media/stick',
    );
    await bulk.getByLabel('2 chosen').selectOption('Follow by Flux');
    expect(await commands.textContent()).toMatch(
      /^fleet-scheduler sites follow alpha-drifted\/NAME --by flux --channel \S+\/\S+\nfleet-scheduler /,
    );
    await page.getByLabel('Packages').selectOption('drifted (1)');
    await page.getByRole('status').getByText('1 of 61 sites').waitFor();
    expect(await bulk.textContent()).toContain('2 chosen');
    await bulk.getByRole('button', { name: 'Choose none' }).click();
    await bulk.waitFor({ state: 'detached' });
  });

  test('answers whether everything is fine: totals, problems by cause, every site as a cell, and the chain', async () => {
    await visit('/');
    const main = page.getByRole('main');
    await main.getByRole('link', { name: '61 sites' }).waitFor();
    expect(await main.getByRole('link', { name: /fail$/ }).textContent()).toContain('2 fail');
    const problems = page.getByRole('region', { name: 'Problems, by cause' });
    const causes = await problems.getByRole('listitem').allTextContents();
    expect(causes[0]).toMatch(/^CHECK_FAILED oven at alpha-failed/);
    expect(causes[0]).toContain(HOSTILE);
    expect(causes[1]).toMatch(/^drifted: oven at alpha-drifted/);
    expect(await page.getByRole('region', { name: 'Promotions' }).textContent()).toMatch(
      /waiting.*qa to prod since 24 h ago.*12 of 24 h have passed/,
    );
    // Each cell is a site: a click leads to it.
    const cells = page.getByRole('region', { name: 'All sites' }).locator('canvas');
    await cells.hover({ position: { x: 5, y: 5 } });
    expect(await cells.getAttribute('title')).toBe('alpha-behind: 1 behind, lacks values');
    await cells.click({ position: { x: 5, y: 5 } });
    await page.getByRole('heading', { level: 1, name: 'Site alpha-behind' }).waitFor();
    await page.goBack();
    await problems.getByRole('link', { name: 'drifted: oven' }).click();
    await page.getByRole('status').getByText('1 of 61 sites').waitFor();
  });

  test('lists all sites, the worst first, filtered by choices with counts in the address', async () => {
    await visit('/sites');
    const row = (name: string) => page.getByRole('row', { name: new RegExp(`^(?:Choose \\S+ )?${name} `) });
    const first = page.getByRole('row').nth(1);
    expect(await first.textContent()).toMatch(/^alpha-(drifted|failed)/);
    expect(await row('alpha-failed').textContent()).toContain('1 failed');
    expect(await row('alpha-silent').textContent()).toMatch(/1 never reported.*never$/);
    await page.getByLabel('Packages').selectOption('drifted (1)');
    await page.getByRole('status').getByText('1 of 61 sites').waitFor();
    expect(page.url()).toContain('verdict=drifted');
    // Choices are counted among what the other filters leave.
    expect(await page.getByLabel('State', { exact: true }).locator('option').allTextContents()).toEqual([
      'any',
      'fails (1)',
    ]);
    await page.goBack();
    await page.getByRole('status').getByText('61 sites', { exact: true }).waitFor();
    await page.getByLabel('State', { exact: true }).selectOption('bad');
    await expect.poll(() => page.url()).toContain('tone=bad');
    await page.getByLabel('Sort by').selectOption('name');
    await expect.poll(() => page.getByRole('row').count()).toBe(3);
    await page.getByRole('button', { name: 'Columns' }).click();
    await page.getByRole('checkbox', { name: 'Cause' }).click();
    await page.keyboard.press('Escape');
    await page.getByRole('columnheader', { name: 'Cause' }).waitFor();

    await page.getByRole('button', { name: 'Save this view' }).click();
    await page.getByLabel('Name of this view').fill('what fails');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'Show all' }).click();
    await row('plant-07').waitFor();
    await page.getByRole('link', { name: 'what fails' }).click();
    await expect.poll(() => page.getByRole('row').count()).toBe(3);
    await page.getByRole('button', { name: 'Forget the view what fails' }).click();
    await page.getByRole('link', { name: 'what fails' }).waitFor({ state: 'detached' });
  });

  test('saves the rows of a table as CSV, and none of its cells is a formula', async () => {
    await visit('/sites?tone=bad&sort=name');
    await page.getByRole('row').nth(1).waitFor();
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Save Sites as CSV' }).click(),
    ]);
    expect(file.suggestedFilename()).toBe('sites.csv');
    const text = await readFile(await file.path(), 'utf8');
    expect(text.split('\r\n')[0]).toBe('\ufeffSite,State,Channels,Last word');
    expect(text).toMatch(/\r\nalpha-drifted,1 drifted,prod\/factory-host,2026-11-\d\dT[\d:.]+Z\r\n/);
  });

  test.each([
    ['/workloads', 'Environment', /^prod \(\d+\)$/, 'environment=prod'],
    ['/where', 'Channel', /^prod\/factory-host \(\d+\)$/, 'channel=prod'],
    ['/media', 'Next visit', /^no interval \(\d+\)$/, 'visit=none'],
  ])(
    'filters %s by choices with counts, sorts, chooses columns, and keeps all in the address',
    async (path, label, choice, kept) => {
      await visit(path);
      const field = page.getByRole('search').getByLabel(label, { exact: true });
      const [wanted = ''] = (await field.locator('option').allTextContents()).filter((one) =>
        choice.test(one),
      );
      expect(wanted).toMatch(choice);
      await field.selectOption(wanted);
      await expect.poll(() => page.url()).toContain(kept);
      const count = Number(/\((\d+)\)$/.exec(wanted)?.[1]);
      await expect
        .poll(() => page.getByRole('status').first().textContent())
        .toMatch(new RegExp(`^${count} `));
      const sort = page.getByLabel('Sort by');
      const [, second = ''] = await sort.locator('option').allTextContents();
      await sort.selectOption(second);
      await expect.poll(() => page.url()).toContain('sort=');
      await page.getByRole('button', { name: 'Columns' }).click();
      const column = page.getByRole('checkbox').first();
      const name =
        (await column.getAttribute('id').then((id) => page.locator(`label[for="${id}"]`).textContent())) ??
        '';
      await column.click();
      await expect.poll(() => page.url()).toContain('columns=');
      await page.keyboard.press('Escape');
      await expect.poll(() => page.getByRole('columnheader', { name, exact: true }).count()).toBe(0);
      await page.getByRole('button', { name: 'Save this view' }).click();
      await page.getByLabel('Name of this view').fill(`mine ${path}`);
      await page.getByRole('button', { name: 'Save', exact: true }).click();
      await visit(path);
      await page.getByRole('link', { name: `mine ${path}` }).click();
      await expect.poll(() => page.url()).toContain('columns=');
      expect(page.url()).toContain(kept);
      expect(await scrollsSideways(page)).toBe(false);
    },
  );

  test('searches for what runs where by a button', async () => {
    await visit('/where');
    await page.getByLabel('Name').fill('alpha-behind');
    await page.getByRole('button', { name: 'Search' }).click();
    await expect.poll(() => page.url()).toContain('name=alpha-behind');
    await expect.poll(() => page.getByRole('main').textContent()).toContain('alpha-behind/press-1');
  });

  test('shows what holds the values of a site, in the list and in its view', async () => {
    await visit('/sites?values=lacking');
    const row = page.getByRole('row', { name: /alpha-behind / });
    expect(await row.textContent()).toContain('lacks values');
    await page.getByRole('link', { name: 'alpha-behind' }).click();
    const values = page.getByRole('region', { name: 'Values of the site' });
    await values.getByRole('listitem').first().waitFor();
    expect(await values.getByRole('listitem').allTextContents()).toEqual([
      `It lacks a value: alpha-behind/press-1 has no value ${HOSTILE}. Set it with: fleet-scheduler sites set alpha-behind line=7.`,
      'It differs from the repository: agent alpha-behind/press-1 has region=west (base/sites.yaml:3:1). Change one of the two.',
    ]);
  });

  test('loads more events of a site and older changes of a workload', async () => {
    await visit('/sites/alpha-many');
    const line = page.getByRole('region', { name: 'Timeline' });
    const first = await line.getByRole('link').first().textContent();
    await page.getByRole('link', { name: 'More events' }).click();
    await expect.poll(() => line.getByRole('link').first().textContent()).not.toBe(first);
    await line.getByText('All events of this page, as a table').click();
    await line.getByRole('region', { name: 'Events' }).getByRole('row').nth(1).waitFor();
    await page.goto(`${hub.url}/ui/workloads/oven`);
    const changes = page.getByRole('region', { name: 'Changes' });
    const newest = await changes.getByRole('row').nth(1).textContent();
    await page.getByRole('link', { name: 'Older changes' }).click();
    await expect.poll(() => changes.getByRole('row').nth(1).textContent()).not.toBe(newest);
  });

  test('has a first link that skips the header', async () => {
    await visit('/alarms');
    await page.getByRole('heading', { level: 1, name: 'Alarms' }).waitFor();
    await page.keyboard.press('Tab');
    await page.keyboard.press('Enter');
    expect(await page.evaluate(() => document.activeElement?.id)).toBe('content');
    // The next stop is in the view.
    await page.keyboard.press('Tab');
    expect(await page.evaluate(() => document.activeElement?.closest('main') !== null)).toBe(true);
  });

  test('draws the number of complying agents over time, and has the same numbers as a table', async () => {
    await visit('/');
    const chart = page.getByRole('figure', { name: 'Agents of prod' });
    const hasInk = (): Promise<boolean> =>
      chart.locator('canvas').evaluate((canvas: HTMLCanvasElement) => {
        const { data } = canvas.getContext('2d')?.getImageData(0, 0, canvas.width, canvas.height) ?? {};
        return data?.some((part) => part > 0) ?? false;
      });
    await expect.poll(hasInk).toBe(true);
    await chart.locator('summary').focus();
    await page.keyboard.press('Enter');
    const numbers = page.getByRole('region', { name: 'Agents of prod, as a table' });
    const headings = () => numbers.getByRole('columnheader').allTextContents();
    await expect.poll(headings).toEqual(['Time', 'comply', 'never reported', 'differ']);
    const newest = numbers.getByRole('row').nth(1);
    expect(await newest.getByRole('rowheader').textContent()).toBe('2026-11-21 07:00');
    expect(await newest.getByRole('cell').allTextContents()).toEqual(['56', '1', '5']);
    await page.getByRole('link', { name: '30 days' }).click();
    await expect.poll(() => page.url()).toContain('span=30d');
  });

  test('shows its views without charts when their library cannot be loaded', async () => {
    await using tab = await openTab(browser);
    const { page } = tab;
    await page.route(/drawing-/, (route) => route.fulfill({ status: 404 }));
    await page.goto(`${hub.url}/ui/sign-in?to=/`);
    await page.getByLabel('Token', { exact: true }).fill(token);
    await page.keyboard.press('Enter');
    await page.getByText('The chart is not loaded.').waitFor();
    await page.getByRole('link', { name: 'CHECK_FAILED oven' }).waitFor();
  });

  test('draws only the visible rows of a site with many assignments, finds the others by a filter, and by keyboard', async () => {
    await using tab = await signedIn('/sites/alpha-many', { viewport: { width: 320, height: 640 } });
    const { page, faults } = tab;
    const table = page.getByRole('region', { name: 'Assignments of all agents', exact: true });
    const last = table.getByRole('row', { name: /^spare-119 .* press-2$/ });
    await table
      .getByRole('row', { name: /^spare-001 / })
      .first()
      .waitFor();
    expect(await table.getByRole('table').getAttribute('aria-rowcount')).toBe('241');
    expect(await table.getByRole('row').count()).toBeLessThan(60);
    expect(await last.count()).toBe(0);

    // Each press of Tab goes on to the link of the next row, also of rows that were not drawn.
    await table.getByRole('link', { name: 'spare-001' }).first().focus();
    for (let presses = 1; presses < 60; presses += 1) await page.keyboard.press('Tab');
    const focused = () => page.evaluate(() => document.activeElement?.textContent?.slice(0, 40));
    expect(await focused()).toBe('spare-060');
    expect(await scrollsSideways(page)).toBe(false);
    await page.evaluate(() => globalThis.scrollTo(0, document.body.scrollHeight));
    // The ovens comply and are below: 239 of 241.
    await last.waitFor();
    expect(await last.getAttribute('aria-rowindex')).toBe('239');

    // The row with the focus was scrolled away, and moves down when 51 others come above it.
    await page.evaluate(() => globalThis.scrollTo(0, 0));
    const { made } = hub;
    const agent = testAgent('alpha-many/press-0');
    const certificate = await join(made, agent);
    const more = Array.from({ length: 50 }, (_, at) => applied(`rack-${at}`, '1'));
    expect(await hand(made, await reportOf(agent, chain(agent, more)), certificate)).toMatchObject({
      status: 200,
    });
    await expect
      .poll(() => table.getByRole('table').getAttribute('aria-rowcount'), { timeout: 20_000 })
      .toBe('292');
    expect(await focused()).toBe('spare-060');
    await page.keyboard.press('Tab');
    expect(await focused()).toBe('spare-061');

    await page.getByLabel('Filter Assignments of all agents').fill('press-2 spare-07');
    await expect.poll(() => page.getByRole('status').textContent()).toBe('10 of 291 rows');
    await table.getByRole('link', { name: 'spare-079' }).click();
    await page.getByRole('heading', { level: 1, name: 'spare-079 at alpha-many/press-2' }).waitFor();
    expect(faults).toEqual([]);
  });

  test('shows age and source of every value of a site, and no markup of an agent', async () => {
    await visit('/sites/alpha-failed');
    const oven = page.getByRole('row', { name: /^oven / });
    const text = await oven.textContent();
    expect(text).toContain(HOSTILE);
    expect(text).toContain('24 h ago, event 1, over the network, received just now');
    expect(await page.getByRole('region', { name: 'Timeline' }).textContent()).toContain('CHECK_FAILED');
    expect(await page.title()).toBe('Site alpha-failed - Fleet Ferry');
  });

  const SHOWN = [
    ['/sites/alpha-failed', 'Site alpha-failed'],
    ['/sites/alpha-held', 'Site alpha-held'],
    ['/sites/alpha-behind', 'Site alpha-behind'],
    ['/sites/alpha-drifted', 'Site alpha-drifted'],
    ['/sites/alpha-drifted/press-1/oven', 'oven at alpha-drifted/press-1'],
    ['/alarms', 'Alarms'],
    ['/workloads', 'Workloads'],
    ['/workloads/oven', 'Workload oven'],
    ['/where?name=oven', 'What runs where'],
  ] as const;

  test.each(SHOWN)('shows hostile text of an agent and of a version as text: %s', async (path, heading) => {
    await visit(path);
    await page.getByRole('heading', { level: 1, name: heading }).waitFor();
    const main = page.getByRole('main');
    const text = (await main.textContent()) ?? '';
    expect(text).toContain(HOSTILE);
    expect(text).not.toMatch(/[\p{Cc}\p{Cf}]/u);
    expect(await main.locator('img, b').count()).toBe(0);
    expect(await page.title()).toBe(`${heading} - Fleet Ferry`);
  });

  test('searches for a hostile text and finds nothing', async () => {
    await visit(`/search?q=${encodeURIComponent(HOSTILE)}`);
    await page.getByText('Nothing has this name or digest.').waitFor();
    expect(await page.getByLabel('Name or digest').inputValue()).toBe(HOSTILE);
  });

  test('finds a site by a part of its name, and links to a package of it', async () => {
    await visit('/search');
    await page.getByLabel('Name or digest').fill('drifted');
    await page.keyboard.press('Enter');
    await page.getByRole('link', { name: 'alpha-drifted', exact: true }).click();
    await page.getByRole('link', { name: 'oven', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'oven at alpha-drifted/press-1' }).waitFor();
    const drifted = page.getByRole('region', { name: 'Objects' });
    expect(await drifted.textContent()).toContain('oven.conf was edited');
  });

  test('lists open alarms by cause, filters them, and links to the place of each', async () => {
    await visit('/alarms?severity=critical');
    const failed = page.getByRole('listitem').filter({ hasText: 'PACKAGE_FAILED' }).first();
    await failed.waitFor();
    expect(await failed.textContent()).toContain('24 h ago');
    expect(await failed.textContent()).toContain(HOSTILE);
    expect(await page.getByRole('link', { name: /^AGENT_LATE/ }).count()).toBe(0);
    expect(await page.getByRole('main').textContent()).toMatch(/chat fails Since .* in 3 attempts: 500/);
    await page.getByLabel('Severity').selectOption('');
    await page.getByRole('link', { name: /^AGENT_LATE/ }).click();
    await page.getByText('no receiver took a notice').waitFor();
    await page.getByRole('link', { name: /^PACKAGE_FAILED/ }).click();
    await page.getByRole('link', { name: 'alpha-failed/press-1' }).click();
    await page.getByRole('heading', { level: 1, name: 'oven at alpha-failed/press-1' }).waitFor();
  });

  test('updates an open view with what the hub receives', async () => {
    const joined = Promise.withResolvers<void>();
    // The stream of changes opens after the change.
    await page.route('**/v1/changes', async (route) => {
      await joined.promise;
      await route.continue();
    });
    await visit('/sites');
    const row = page.getByRole('row', { name: /late-comer / });
    expect(await row.count()).toBe(0);
    await join(hub.made, testAgent('late-comer/press-1'));
    joined.resolve();
    await row.waitFor();
    await page.unroute('**/v1/changes');
  });

  test('shows the refusal of the hub, and asks again on request', async () => {
    await visit('/?environment=NOT+A+NAME');
    expect(await page.getByRole('alert').textContent()).toContain('NAME_INVALID');
    // The hub refuses once, and answers when it is asked again.
    await page.route(/v1\/overview/, (route) =>
      route.fulfill({ status: 503, json: { code: 'BUSY', detail: 'try later' } }),
    );
    await page.goto(`${hub.url}/ui/`);
    await page.getByText('try later').waitFor();
    await page.unroute(/v1\/overview/);
    await page.getByRole('button', { name: 'Ask again' }).click();
    await page.getByRole('heading', { level: 1, name: 'Fleet acme' }).waitFor();
  });

  test('shows that a view failed, with buttons that reload it', async () => {
    await visit('/');
    // As the hub of a later version may answer.
    await page.route(/v1\/overview/, (route) => route.fulfill({ json: {} }));
    await page.goto(`${hub.url}/ui/`);
    await page.getByRole('alert', { name: 'The page failed' }).waitFor();
    await page.unroute(/v1\/overview/);
    await page.getByRole('alert').getByRole('button', { name: 'Reload' }).click();
    await page.getByRole('heading', { level: 1, name: 'Fleet acme' }).waitFor();
  });

  test('offers a reload after an upgrade of the hub, and keeps typed text', async () => {
    await visit('/where');
    const reload = page.getByRole('button', { name: 'Reload' });
    await page.getByLabel('Name').fill('plant-0');
    const asked = page.waitForResponse(`${hub.url}/ui/`);
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await (await asked).finished();
    expect(await reload.count()).toBe(0);
    // The page of the next version: the hub answers with other names of scripts.
    await page.route(`${hub.url}/ui/`, async (route) => {
      const answer = await route.fetch();
      const body = (await answer.text()).replaceAll(/index-[\w-]+\.js/g, 'index-next.js');
      await route.fulfill({ response: answer, body });
    });
    await page.evaluate(() => document.dispatchEvent(new Event('visibilitychange')));
    await reload.waitFor();
    await page.getByRole('status').filter({ hasText: 'The hub was upgraded' }).waitFor();
    expect(await page.getByLabel('Name').inputValue()).toBe('plant-0');
    await page.unroute(`${hub.url}/ui/`);
    await reload.click();
    await page.getByRole('heading', { level: 1, name: 'What runs where' }).waitFor();
    await expect.poll(() => reload.count()).toBe(0);
  });

  test('works by keyboard alone', async () => {
    await visit('/');
    const link = page.getByRole('link', { name: 'alpha-failed' });
    await link.waitFor();
    for (let presses = 0; presses < 60; presses += 1) {
      await page.keyboard.press('Tab');
      if (await link.evaluate((element) => element === element.ownerDocument.activeElement)) break;
    }
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { level: 1, name: 'oven at alpha-failed/press-1' }).waitFor();
  });

  test('transfers at most 300 kB for the first view, with the library of charts and the first answers', async () => {
    await using tab = await openTab(browser);
    const { page } = tab;
    const sizes: Promise<number>[] = [];
    const count = (request: Request): void => {
      sizes.push(request.sizes().then(({ responseBodySize }) => responseBodySize));
    };
    page.on('requestfinished', count);
    await page.goto(`${hub.url}/ui/`);
    await page.getByLabel('Token', { exact: true }).fill(token);
    await page.keyboard.press('Enter');
    await page.locator('.drawing canvas').waitFor();
    page.off('requestfinished', count);
    const total = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    expect(total).toBeGreaterThan(200_000);
    expect(total).toBeLessThanOrEqual(300_000);
  });
});
