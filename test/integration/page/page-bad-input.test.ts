import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join as joinPath } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { SMTPServer } from 'smtp-server';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { addDays, formatTime, HOUR_MS } from '#bundles/time';
import { openConnections } from '#bundles/transport/registry/http/connections';
import { createAlarm } from '../../../scheduler/hub/alarms/alarm.ts';
import { keepAlarms } from '../../../scheduler/hub/alarms/keep-alarms.ts';
import { createAlarmSender } from '../../../scheduler/hub/alarms/send-alarms.ts';
import { parseAllowance } from '../../../scheduler/hub/sites/tokens/allowance.ts';
import { createToken } from '../../../scheduler/hub/sites/tokens/create-token.ts';
import type { ReceiverSettings } from '../../../scheduler/settings/alarm-settings.ts';
import { builtPage } from '../../harness/run/built-programs.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { type TemporaryDirectory, temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { hand, join, type TestServer, testServer } from '../../scheduler/hub/serve/test-server.ts';
import { chain, HOSTS, NOW, reportOf, testAgent } from '../../scheduler/hub/test-hub.ts';
import { scrollsSideways, startBrowser, type Tab } from './browser.ts';
import { signIn } from './sign-in.ts';

const LONGEST = `w${'-long-name'.repeat(6)}xy`;
/** 4 KB with characters that reorder, hide and clear. */
const HOSTILE =
  `\u202eevil\u202c\u200b\u0007\u001b[2J ${'left and \u05d9\u05de\u05d9\u05df '.repeat(300)}`.slice(0, 4000);
const UNSEEN = ['\u202e', '\u202c', '\u200b', '\u0007', '\u001b'];
const SITES = 10_000;

describeWith(['chromium'], 'the page with bad input', ({ chromium }) => {
  let folder: TemporaryDirectory;
  let made: TestServer;
  let browser: Browser;
  let tab: Tab;
  let page: Page;
  let url: string;
  let reader: string;
  const cause = (site: string) => {
    const subject = { site, agent: `${site}/till-1`, environment: 'prod', assignment: 'till' };
    const alarm = createAlarm(
      'PACKAGE_FAILED',
      'critical',
      subject,
      formatTime(addDays(NOW, -1)),
      `till failed at ${site}`,
    );
    return { ...alarm, cause: 'CHECK_FAILED till' };
  };
  const alarms = ['shop-1', 'shop-2'].map(cause);

  beforeAll(async () => {
    folder = await temporaryDirectory('bad-input');
    made = await testServer({ page: await builtPage(joinPath(folder.path, 'page')) });
    const agent = testAgent('plant-7/press-1');
    const certificate = await join(made, agent);
    const lines = chain(agent, [
      {
        type: 'package',
        assignment: LONGEST,
        package: `sha256:${'a'.repeat(64)}`,
        release: { ...HOSTS, version: 1 },
        outcome: 'configured',
      },
      { type: 'check', assignment: LONGEST, outcome: 'failed', code: 'CHECK_FAILED', message: HOSTILE },
    ]);
    const answer = await hand(made, await reportOf(agent, lines), certificate);
    if (answer.status !== 200) throw new Error(answer.text);
    await keepAlarms(made.hub.store, alarms, { now: NOW });
    await made.server.listen({ host: '127.0.0.1', port: 0 });
    url = `http://127.0.0.1:${(made.server.server.address() as AddressInfo).port}`;
    reader = await made.reader();
    browser = await startBrowser(chromium);
    tab = await signIn(browser, { url, token: reader, path: '/alarms' }, {});
    ({ page } = tab);
  });
  afterAll(async () => {
    await browser?.close();
    await made?.[Symbol.asyncDispose]();
    await folder?.[Symbol.asyncDispose]();
  });
  afterEach(() => expect(tab.faults.splice(0)).toEqual([]));

  const decider = async (expires = addDays(NOW, 5)): Promise<string> => {
    const order = { scope: 'decide', person: 'mara', allowances: [parseAllowance('alarms:prod')] } as const;
    return (await createToken(made.hub.store, order, { note: undefined, expires, now: NOW })).token;
  };
  const visit = async (path: string): Promise<void> => {
    await page.goto(`${url}/ui${path}`);
    await page.getByRole('button', { name: 'Sign out' }).waitFor();
  };
  const openDialog = async (what: string) => {
    await page.getByRole('button', { name: what }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').waitFor();
    return dialog;
  };

  test('shows a name of 63 characters and a message of 4 KB with reordering characters at 360 pixels', async () => {
    await page.setViewportSize({ width: 360, height: 800 });
    for (const path of [
      '/',
      '/sites',
      '/sites/plant-7',
      `/sites/plant-7/press-1/${LONGEST}`,
      '/where',
      '/workloads',
    ]) {
      await visit(path);
      await page.getByRole('heading', { level: 1 }).waitFor();
      const text = (await page.getByRole('main').textContent()) ?? '';
      expect(
        UNSEEN.filter((one) => text.includes(one)),
        path,
      ).toEqual([]);
      expect(await scrollsSideways(page), path).toBe(false);
    }
    await visit('/where');
    await page.getByRole('cell', { name: LONGEST }).first().waitFor();
    await visit(`/sites/plant-7/press-1/${LONGEST}`);
    await expect.poll(() => page.getByRole('main').textContent()).toContain('\\u202eevil');
    await page.setViewportSize({ width: 1440, height: 900 });
  });

  test('shows 10,000 sites, of which the document has those in the window', async () => {
    await page.route(/v1\/overview/, async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as { sites: Record<string, unknown[]> };
      const numbers = Array.from({ length: SITES }, (_, index) => index);
      const of = (value: unknown) => numbers.map(() => value);
      const { judged = [], place = [], saidAt = [] } = body.sites;
      const name = numbers.map((index) => `site-${index}`);
      const sites = { name, judged: of(judged[0]), place: of(place[0]), saidAt: of(saidAt[0]) };
      await route.fulfill({ response, json: { ...body, sites, causes: [] } });
    });
    await visit('/sites');
    await page.getByRole('status').getByText(`${SITES} sites`).first().waitFor();
    expect(await page.getByRole('row').count()).toBeLessThan(200);
    await page.getByLabel('Filter Sites').fill('site-9999');
    await page.getByRole('link', { name: 'site-9999' }).waitFor();
    await page.unroute(/v1\/overview/);
  });

  test('filters the alarms among all causes, also beyond those of one answer, and draws some of them', async () => {
    const many = Array.from({ length: 600 }, (_, index) => {
      const subject = { environment: 'prod', assignment: `app-${index}` };
      const at = formatTime(addDays(NOW, -1));
      return createAlarm('PACKAGE_FAILED', 'critical', subject, at, `app-${index} failed`);
    });
    const began = formatTime(addDays(NOW, -3));
    const late = createAlarm('AGENT_LATE', 'warning', { site: 'shop-9' }, began, 'shop-9 is late');
    await keepAlarms(made.hub.store, [...alarms, ...many, late], { now: NOW });
    await visit('/alarms');
    const status = page.getByRole('status');
    await status.getByText('602 causes', { exact: true }).waitFor();
    const cards = page.locator('.causes > li');
    expect(await cards.count()).toBe(100);
    await page.getByRole('button', { name: 'Show 100 more causes of 502' }).click();
    await expect.poll(() => cards.count()).toBe(200);
    await page.getByLabel('Kind', { exact: true }).selectOption('AGENT_LATE (1)');
    await status.getByText('1 of 602 causes').waitFor();
    await page.getByText('shop-9 is late').waitFor();
    expect(await cards.count()).toBe(1);
    await keepAlarms(made.hub.store, alarms, { now: NOW });
  });

  test('offers the field for another token where the hub refuses the own one, and keeps the reason', async () => {
    const terms = { note: undefined, expires: addDays(NOW, 5), now: NOW };
    const allowances = ['read:*', 'alarms:prod'].map(parseAllowance);
    const order = { scope: 'decide', person: 'ines', allowances } as const;
    const { token } = await createToken(made.hub.store, order, terms);
    await using own = await signIn(browser, { url, token, path: '/alarms' }, {});
    await own.page.getByRole('button', { name: 'Acknowledge PACKAGE_FAILED' }).click();
    const dialog = own.page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('looked after by mara');
    expect(await dialog.getByLabel('Token of a person').count()).toBe(0);
    const refusal = { code: 'TOKEN_SCOPE', detail: 'this token does not allow alarms:prod' };
    await own.page.route(
      /v1\/alarms\/acknowledge/,
      (route) => route.fulfill({ status: 403, json: refusal }),
      {
        times: 1,
      },
    );
    const submit = dialog.getByRole('button', { name: 'Acknowledge', exact: true });
    await submit.click();
    await dialog.getByRole('alert').getByText('this token does not allow').waitFor();
    await dialog.getByLabel('Token of a person').fill(await decider());
    expect(await dialog.getByLabel('Reason').inputValue()).toBe('looked after by mara');
    await submit.click();
    await own.page.getByText(/Acknowledged by mara.*looked after by mara/).waitFor();
    await own.page.getByRole('button', { name: 'Take back what was done about PACKAGE_FAILED' }).click();
    await dialog.getByLabel('Reason').fill('for the next test');
    await dialog.getByRole('button', { name: 'Take back', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(own.faults).toEqual([]);
  });

  test('says of how many agents it counts on the view of media', async () => {
    const counts = page.getByText(/(?:have|has) not said that (?:they|it) imported/);
    await visit('/media');
    expect(await counts.textContent()).toMatch(/^\d+ agents? ha(?:ve|s) not said/);
    await page.route(/v1\/media\?/, async (route) => {
      const asked = new URL(route.request().url());
      asked.searchParams.delete('cursor');
      const response = await route.fetch({ url: asked.href });
      const body = (await response.json()) as Record<string, unknown>;
      await route.fulfill({ response, json: { ...body, next: 'plant-7/press-1' } });
    });
    await visit('/media');
    expect(await counts.textContent()).toMatch(/^Of the first 1,000 agents, \d+ ha(?:ve|s) not said/);
    await visit('/media?cursor=plant-7%2Fpress-1');
    expect(await counts.textContent()).toMatch(/^Of the agents of this page, \d+ ha(?:ve|s) not said/);
    await page.unroute(/v1\/media\?/);
  });

  test('keeps a reason that was typed when the session ends, and sends it after the sign-in', async () => {
    await visit('/alarms');
    const dialog = await openDialog('Acknowledge PACKAGE_FAILED');
    await dialog.getByLabel('Reason').fill('the till is being exchanged');
    await dialog.getByLabel('Token of a person').fill(await decider());
    await page.route(/v1\/alarms\/acknowledge/, (route) =>
      route.fulfill({ status: 401, json: { code: 'SESSION_INVALID', detail: 'the session has ended' } }),
    );
    await dialog.getByRole('button', { name: 'Acknowledge', exact: true }).click();
    await dialog.getByRole('alert').getByText('the session has ended').waitFor();
    expect(await dialog.getByLabel('Reason').inputValue()).toBe('the till is being exchanged');
    await dialog.getByRole('link', { name: 'Sign in again' }).click();
    await page.unroute(/v1\/alarms\/acknowledge/);
    await page.getByLabel('Token', { exact: true }).fill(reader);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const again = await openDialog('Acknowledge PACKAGE_FAILED');
    expect(await again.getByLabel('Reason').inputValue()).toBe('the till is being exchanged');
  });

  test('keeps a reason while the hub is down, names it, and sends it once when the hub is back', async () => {
    await visit('/alarms');
    const dialog = await openDialog('Acknowledge PACKAGE_FAILED');
    await dialog.getByLabel('Reason').fill('the till is known');
    await dialog.getByLabel('Token of a person').fill(await decider());
    await page.route(/v1\/alarms\/acknowledge/, (route) => route.abort('connectionrefused'));
    const submit = dialog.getByRole('button', { name: 'Acknowledge', exact: true });
    await submit.click();
    await dialog.getByRole('alert').waitFor();
    expect(await dialog.getByRole('alert').textContent()).toMatch(/hub/i);
    expect(await dialog.getByLabel('Reason').inputValue()).toBe('the till is known');
    await page.unroute(/v1\/alarms\/acknowledge/);
    await submit.click();
    await dialog.waitFor({ state: 'detached' });
    await page.getByText(/Acknowledged by mara.*the till is known/).waitFor();
    const next = await openDialog('Silence PACKAGE_FAILED');
    expect(await next.getByLabel('Reason').inputValue()).toBe('');
    await next.getByRole('button', { name: 'Cancel' }).click();
    await next.waitFor({ state: 'detached' });
    await page.getByRole('button', { name: 'Take back what was done about PACKAGE_FAILED' }).click();
    const back = page.getByRole('dialog');
    await back.getByLabel('Reason').fill('it is back');
    await back.getByRole('button', { name: 'Take back', exact: true }).click();
    await back.waitFor({ state: 'detached' });
  });

  test('counts ages from the clock of the hub where that of the browser is wrong by an hour', async () => {
    await visit('/sites/plant-7');
    await page.getByRole('region', { name: 'Timeline' }).waitFor();
    const right = await page.getByRole('main').textContent();
    await using wrong = await signIn(browser, { url, token: reader, path: '/sites/plant-7' }, {});
    for (const hours of [-1, 1]) {
      await wrong.page.clock.setFixedTime(NOW.getTime() + hours * HOUR_MS);
      await wrong.page.reload();
      await wrong.page.getByRole('region', { name: 'Timeline' }).waitFor();
      expect(await wrong.page.getByRole('main').textContent()).toBe(right);
    }
    expect(wrong.faults).toEqual([]);
  });

  test('silences by a click for an hour by the clock of the hub, and neither mail nor webhook has a notice meanwhile', async () => {
    await using receivers = await startReceivers(folder.path);
    let now = NOW;
    const send = async () => {
      made.setNow(now);
      await keepAlarms(made.hub.store, [...alarms, cause('shop-3')], { now });
      for (const settings of receivers.settings)
        await createAlarmSender(
          settings,
          { repeat: '24h' },
          {
            store: made.hub.store,
            access: { connections: () => receivers.connections, plainHttp: [], ca: undefined },
            clock: () => now,
            random: () => 0.5,
            log: { info: () => {}, warn: () => {}, error: () => {} },
          },
        )(new AbortController().signal);
    };
    await using wrong = await signIn(browser, { url, token: reader, path: '/alarms' }, {});
    await wrong.page.clock.setFixedTime(NOW.getTime() - HOUR_MS);
    await wrong.page.reload();
    await wrong.page.getByRole('button', { name: 'Silence PACKAGE_FAILED' }).click();
    const dialog = wrong.page.getByRole('dialog');
    await dialog.getByLabel('For').selectOption('1 hour');
    await dialog.getByLabel('Reason').fill('works at the shop');
    await dialog.getByLabel('Token of a person').fill(await decider());
    await dialog.getByRole('button', { name: 'Silence', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    const until = formatTime(new Date(NOW.getTime() + HOUR_MS));
    await wrong.page.getByText(`Silenced by mara`).waitFor();
    expect(await wrong.page.locator(`time[datetime="${until}"]`).count()).toBeGreaterThan(0);

    now = new Date(NOW.getTime() + HOUR_MS / 2);
    await send();
    expect([receivers.mails, receivers.events]).toEqual([[], []]);
    now = new Date(NOW.getTime() + 2 * HOUR_MS);
    await send();
    expect(receivers.mails).toHaveLength(1);
    expect(receivers.mails[0]).toContain('3 new');
    expect(receivers.events).toHaveLength(3);
    expect(wrong.faults).toEqual([]);
    made.setNow(NOW);
  });
});

/** A mail server and a receiver of webhooks. */
const startReceivers = async (folder: string) => {
  const [mails, events]: [string[], string[]] = [[], []];
  const smtp = new SMTPServer({
    authOptional: true,
    hideSTARTTLS: true,
    logger: false,
    onData: (stream, _session, callback) => {
      let text = '';
      stream.on('data', (chunk: Buffer) => (text += chunk.toString()));
      stream.on('end', () => {
        mails.push(text);
        callback(null, 'kept');
      });
    },
  });
  const http = createServer((request, response) => {
    let body = '';
    request.on('data', (chunk: Buffer) => (body += chunk.toString()));
    request.on('end', () => {
      events.push(body);
      response.writeHead(204).end();
    });
  });
  smtp.listen(0, '127.0.0.1');
  http.listen(0, '127.0.0.1');
  await Promise.all([once(smtp.server, 'listening'), once(http, 'listening')]);
  const portOf = (server: { readonly address: () => unknown }): number =>
    (server.address() as AddressInfo).port;
  const secretFile = joinPath(folder, 'hook-secret');
  await writeFile(secretFile, 'a secret of sixteen letters\n', { mode: 0o600 });
  const settings: readonly ReceiverSettings[] = [
    { name: 'hook', webhook: { url: `http://127.0.0.1:${portOf(http)}/hook`, secretFile } },
    {
      name: 'desk',
      email: {
        server: `smtp://127.0.0.1:${portOf(smtp.server)}`,
        from: 'fleet@example.com',
        to: ['desk@example.com'],
      },
    },
  ];
  const connections = openConnections({ plainHttp: [], env: {} });
  return {
    mails,
    events,
    settings,
    connections,
    [Symbol.asyncDispose]: async () => {
      await connections.destroy();
      http.closeAllConnections();
      http.close();
      await new Promise<void>((resolve) => smtp.close(() => resolve()));
    },
  };
};
