import { join as joinPath } from 'node:path';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { addDays, formatTime } from '#bundles/time';
import { recordLinkStates } from '../../../scheduler/hub/questions/state/link-states.ts';
import { stepsOf } from '../../../scheduler/page/parts/fleet/steps-of.ts';
import { parseAllowance } from '../../../scheduler/hub/sites/tokens/allowance.ts';
import { createToken } from '../../../scheduler/hub/sites/tokens/create-token.ts';
import { builtPage } from '../../harness/run/built-programs.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { join, type TestServer, testServer } from '../../scheduler/hub/serve/test-server.ts';
import { HOSTS, NOW, testAgent } from '../../scheduler/hub/test-hub.ts';
import { axeFindings, scrollsSideways, startBrowser, type Tab } from './browser.ts';
import { signIn } from './sign-in.ts';

describeWith(['chromium'], 'the page of an empty hub', ({ chromium }) => {
  let folder: TemporaryDirectory;
  let made: TestServer;
  let browser: Browser;
  let tab: Tab;
  let page: Page;
  let url: string;

  beforeAll(async () => {
    folder = await temporaryDirectory('first-steps');
    made = await testServer({ page: await builtPage(joinPath(folder.path, 'page')) });
    await made.server.listen({ host: '127.0.0.1', port: 0 });
    url = `http://127.0.0.1:${(made.server.server.address() as AddressInfo).port}`;
    browser = await startBrowser(chromium);
    tab = await signIn(browser, { url, token: await made.reader(), path: '/' }, { bypassCSP: true });
    ({ page } = tab);
  });
  afterAll(async () => {
    await browser?.close();
    await made?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });
  afterEach(() => expect(tab.faults.splice(0)).toEqual([]));

  const steps = async (): Promise<readonly string[]> => {
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'Fleet acme' }).waitFor();
    return page.getByRole('region', { name: 'First steps' }).locator('summary').allTextContents();
  };

  test('shows the steps with the commands for this hub, and ticks them off by what the hub learns', async () => {
    expect(await steps()).toEqual([
      'Build a release to do',
      'Enrol an agent to do',
      'Fill a stick to do',
      'Promote to the next environment to do',
      'Let people sign in, and send alarms to do',
    ]);
    const first = page.getByRole('region', { name: 'First steps' });
    const commands = await first.locator('pre').nth(1).textContent();
    expect(commands).toContain(`fleet-agent enroll --hub ${url} --token-file token`);
    expect(commands).toMatch(/--root-sha256 [0-9a-f]{64}/);
    for (const width of [360, 1440, 2560]) {
      await page.setViewportSize({ width, height: 900 });
      if (process.env['SHOTS']) await page.screenshot({ path: `${process.env['SHOTS']}/first-${width}.png` });
      expect(await scrollsSideways(page)).toBe(false);
      expect(await axeFindings(page)).toEqual([]);
    }

    await join(made, testAgent('plant-7/press-1'));
    expect((await steps())[1]).toBe('Enrol an agent done');
    expect(await first.locator('pre').nth(1).textContent()).toContain('--site plant-7');

    const at = formatTime(NOW);
    const waiting = {
      mode: 'manual',
      state: 'waiting',
      candidate: null,
      waitsFor: null,
      unmet: [],
      why: null,
    } as const;
    await recordLinkStates(made.hub.store, [{ ...waiting, from: 'prod', to: 'far' }], at);
    await made.hub.layoutWriter.release({
      channel: HOSTS,
      version: 1,
      bundles: [{ kind: 'host', packages: { oven: { 'package.json': 'oven' } } }],
    });
    expect((await steps())[0]).toBe('Build a release done');

    await made.hub.store.db
      .insertInto('medium_departure')
      .values({
        filling: `sha256:${'1'.repeat(64)}`,
        created_at: at,
        recorded_at: at,
        returned_at: null,
        releases: '["prod/hosts r1"]',
        sites: '["plant-7"]',
      })
      .execute();
    expect((await steps())[2]).toBe('Fill a stick done');
    await page.getByText('Fill a stick').click();
    await first.getByRole('link', { name: 'Show it' }).click();
    await page.getByRole('heading', { level: 1, name: 'Media' }).waitFor();
    await page.goBack();

    const link = { mode: 'manual', state: 'promoted', candidate: `sha256:${'2'.repeat(64)}` } as const;
    const to = HOSTS.environment;
    await recordLinkStates(
      made.hub.store,
      [{ ...link, from: 'qa', to, waitsFor: null, unmet: [], why: null }],
      at,
    );
    expect(await steps()).toEqual([]);
  });

  test('leaves out the medium and the promotion where agents are on line and nothing is promoted', async () => {
    await using online = await testServer();
    const token = await online.reader();
    const found = async () => {
      const answer = await online.get('/v1/first-steps', { authorization: `Bearer ${token}` });
      return (answer.body as { readonly steps: unknown }).steps;
    };
    const setUp = { signIn: false, alarms: false };
    expect(await found()).toEqual({
      enrolled: false,
      built: false,
      filled: false,
      promoted: false,
      ...setUp,
    });

    await join(online, testAgent('plant-7/press-1'));
    expect(await found()).toMatchObject({ enrolled: true, filled: false });
    const at = formatTime(NOW);
    await online.hub.store.db.updateTable('agent').set({ online_at: at }).execute();
    expect(await found()).toMatchObject({ enrolled: true, filled: null });

    await online.hub.layoutWriter.release({
      channel: HOSTS,
      version: 1,
      bundles: [{ kind: 'host', packages: { oven: { 'package.json': 'oven' } } }],
    });
    const steps = { enrolled: true, built: true, filled: null, promoted: null, ...setUp };
    expect(await found()).toEqual(steps);
    const names = {
      at,
      fleet: 'acme',
      rootSha256: '0'.repeat(64),
      channel: null,
      site: null,
      promotion: null,
    };
    expect(stepsOf({ ...names, steps }, url)).toEqual([]);
    const begun = { ...steps, built: false };
    expect(stepsOf({ ...names, steps: begun }, url).map(({ title }) => title)).toEqual([
      'Build a release',
      'Enrol an agent',
      'Let people sign in, and send alarms',
    ]);
    const lastOf = (set: typeof setUp) => stepsOf({ ...names, steps: { ...begun, ...set } }, url).at(-1);
    expect(lastOf({ signIn: true, alarms: false })).toMatchObject({
      done: false,
      commands: [expect.stringMatching(/^#/), 'fleet-scheduler setup mail'],
    });
    expect(lastOf({ signIn: true, alarms: true })).toMatchObject({ done: true });
  });

  test('shows no steps to a reader of one environment', async () => {
    const allowances = [parseAllowance('read:qa')];
    const terms = { note: undefined, expires: addDays(NOW, 1), now: NOW };
    const { token } = await createToken(made.hub.store, { scope: 'reader', allowances }, terms);
    const answer = await made.get('/v1/first-steps', { authorization: `Bearer ${token}` });
    expect(answer.body).toMatchObject({ steps: null, site: null, channel: null, promotion: null });
    await using other = await signIn(browser, { url, token, path: '/' }, {});
    await other.page.getByRole('heading', { level: 1, name: 'Fleet acme' }).waitFor();
    expect(await other.page.getByRole('region', { name: 'First steps' }).count()).toBe(0);
  });
});
