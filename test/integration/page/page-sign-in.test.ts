import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addDays, formatTime } from '#bundles/time';
import { CALLBACK_PATH } from '../../../scheduler/hub/http/access/sign-in-routes.ts';
import { NO_PEOPLE, type People } from '../../../scheduler/hub/people/people.ts';
import { endSessionsOf } from '../../../scheduler/hub/people/session.ts';
import { recordLinkStates } from '../../../scheduler/hub/questions/state/link-states.ts';
import { createToken } from '../../../scheduler/hub/sites/tokens/create-token.ts';
import { builtPage } from '../../harness/run/built-programs.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { freePort } from '../../harness/neighbours/free-port.ts';
import { CLIENT, startOidcProvider } from '../../harness/neighbours/oidc-provider.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { ours } from '../../scheduler/fleet-platform.ts';
import { decisionServer } from '../../scheduler/hub/http/decisions/decision-server.ts';
import { axeFindings, openTab, scrollsSideways, startBrowser } from './browser.ts';

const TWO_WORKSPACES = {
  'platform/base/scale.yaml': ours(
    'WorkloadRegistration',
    'scale',
    'spec:\n  workspace: weighing\n  workload: {repo: ../apps/scale, path: deploy}\n',
  ),
};

/** A hub whose prod is promoted from qa, with the built page and a provider that people sign in at. */
const startOffice = async (page: string) => {
  await using starting = new AsyncDisposableStack();
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const provider = starting.use(await startOidcProvider([`${url}${CALLBACK_PATH}`]));
  provider.accounts.set('mara', { groups: ['line-3'] });
  provider.accounts.set('lena', { groups: ['sales'] });
  provider.accounts.set('otto', { groups: ['both'] });
  const people: People = {
    ...NO_PEOPLE,
    origin: url,
    roles: [
      { role: 'operator', groups: ['line-3'] },
      { role: 'approver', groups: ['sales'], environments: ['prod'], workspaces: ['sales'] },
      { role: 'approver', groups: ['both'], environments: ['prod'], workspaces: ['sales', 'weighing'] },
    ],
    oidc: {
      issuer: provider.issuer,
      clientId: CLIENT.id,
      clientSecret: CLIENT.secret,
      scope: 'openid email groups',
      personClaim: 'email',
      groupsClaim: 'groups',
      ca: undefined,
      timeoutMs: 2_000,
    },
  };
  const made = starting.use(await decisionServer({ page, people }, TWO_WORKSPACES));
  const now = new Date();
  made.setNow(now);
  const link = { from: 'qa', to: 'prod', mode: 'manual', state: 'ready', candidate: null };
  await recordLinkStates(
    made.store,
    [{ ...link, waitsFor: null, unmet: [], why: null }],
    formatTime(addDays(now, -2)),
  );
  await made.server.listen({ host: '127.0.0.1', port });
  const running = starting.move();
  return { made, url, provider, now, [Symbol.asyncDispose]: () => running.disposeAsync() };
};

const signInAs = async (page: Page, login: string): Promise<void> => {
  await page.getByRole('link', { name: /^Sign in at 127\.0\.0\.1/ }).click();
  await page.locator('input[name=login]').fill(login);
  await page.locator('input[name=password]').fill('any');
  await page.locator('input[name=password]').press('Enter');
};

describeWith(['chromium'], 'the sign-in of the page', ({ chromium }) => {
  const world = new AsyncDisposableStack();
  let browser: Browser;
  let built: string;
  beforeAll(async () => {
    built = await builtPage(join(world.use(await temporaryDirectory('page-sign-in')).path, 'page'));
    browser = await startBrowser(chromium);
    world.defer(() => browser.close());
  });
  afterAll(() => world.disposeAsync());

  test('leads through the provider to the view, where each button does what the roles allow', async () => {
    await using office = await startOffice(built);
    const { made, url } = office;
    await using tab = await openTab(browser);
    const { page } = tab;
    await page.goto(`${url}/ui/pipeline`);
    await signInAs(page, 'mara');
    await page.getByRole('heading', { level: 2, name: 'qa to prod' }).waitFor();
    expect(page.url()).toBe(`${url}/ui/pipeline`);
    expect(await page.getByRole('banner').textContent()).toContain('mara@example.com (OIDC 127.0.0.1');
    // No script sees the cookie.
    expect(await page.evaluate(() => document.cookie)).toBe('');
    const reject = page.getByRole('button', { name: 'your roles do not allow reject:prod' });
    expect(await reject.isDisabled()).toBe(true);

    // Approvers of workspaces: the candidate changes sales and weighing.
    await using hers = await openTab(browser);
    await hers.page.goto(`${url}/ui/pipeline`);
    await signInAs(hers.page, 'lena');
    const beyond = 'this candidate, which also changes 1 workspace that you may not see';
    await hers.page.getByText(`You approve for sales, but not ${beyond}.`).waitFor();
    const refused = hers.page.getByRole('button', {
      name: `your roles do not allow reject:prod of ${beyond}`,
    });
    expect(await refused.isDisabled()).toBe(true);
    await using his = await openTab(browser);
    await his.page.goto(`${url}/ui/pipeline`);
    await signInAs(his.page, 'otto');
    await his.page.getByText('You approve for sales, weighing.').waitFor();
    expect(await his.page.getByRole('button', { name: 'Reject qa to prod' }).isEnabled()).toBe(true);
    expect([...hers.faults, ...his.faults]).toEqual([]);

    await page.getByRole('button', { name: 'Pause qa to prod' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByLabel('Token of a person').count()).toBe(0);
    await dialog.getByLabel('Reason').fill('stock taking');
    await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
    await page.getByRole('button', { name: 'Resume qa to prod' }).waitFor();
    const [entry] = await made.office.entries();
    expect(entry?.predicate).toMatchObject({
      decision: 'pause',
      person: expect.stringMatching(/^mara@example\.com \(OIDC 127\.0\.0\.1:\d+\)$/),
    });

    // She sees her own sessions and ends another one of them; not that of an admin.
    await using elsewhere = await openTab(browser);
    await elsewhere.page.goto(`${url}/ui/sessions`);
    await signInAs(elsewhere.page, 'mara');
    await elsewhere.page.getByRole('heading', { level: 1, name: 'Sessions' }).waitFor();
    await page.getByRole('link', { name: 'Sessions' }).click();
    await page.getByRole('row', { name: /^mara@example\.com open, this one/ }).waitFor();
    await page.getByRole('button', { name: /^End the session of mara@example\.com/ }).click();
    await page.getByRole('row', { name: /^mara@example\.com ended/ }).waitFor();
    expect(await page.getByRole('region', { name: 'Sessions' }).getByRole('row').count()).toBe(3);

    await endSessionsOf(made.store, 'mara@example.com', { why: 'left', now: office.now });
    // Not by a click: the hub's stream of changes leads there too, and would take the link away under the pointer.
    await page.getByText('Your session has ended. Sign in again.').waitFor();
    // The provider still knows her.
    await page.getByRole('link', { name: /^Sign in at/ }).click();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('link', { name: /^Sign in at/ }).waitFor();
    await page.goto(`${url}/ui/pipeline`);
    await page.getByRole('link', { name: /^Sign in at/ }).waitFor();
    expect(tab.faults).toEqual([]);
  });

  test('shows that the provider is down, and accepts a break-glass code, which everyone is shown', async () => {
    await using office = await startOffice(built);
    const { made, url, provider, now } = office;
    await using tab = await openTab(browser, { bypassCSP: true, viewport: { width: 320, height: 640 } });
    const { page } = tab;
    provider.isDown = true;
    await page.goto(`${url}/ui/`);
    await page.getByRole('link', { name: /^Sign in at/ }).click();
    expect(await page.getByRole('alert').textContent()).toContain('The sign-in provider does not answer.');
    expect(await axeFindings(page)).toEqual([]);
    expect(await scrollsSideways(page)).toBe(false);

    const terms = { note: 'the provider is down', expires: addDays(now, 1), now };
    const { token } = await createToken(made.store, { scope: 'break-glass', person: 'ada' }, terms);
    await page.getByLabel('Token', { exact: true }).fill(token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    const banner = page.getByRole('status').filter({ hasText: 'Break-glass admin' });
    await banner.waitFor();
    expect(await banner.textContent()).toMatch(/ada is signed in as an admin .* the provider is down/);
    expect(await axeFindings(page)).toEqual([]);
    expect(await scrollsSideways(page)).toBe(false);
  });

  test('shows its own messages for known faults only, and no text of the address', async () => {
    await using office = await startOffice(built);
    await using tab = await openTab(browser);
    const { page } = tab;
    await page.goto(`${office.url}/ui/sign-in?fault=no-role`);
    expect(await page.getByRole('alert').textContent()).toContain('You are known, but have no role');
    await page.goto(`${office.url}/ui/sign-in?fault=call+0800+for+your+password`);
    await page.getByRole('link', { name: /^Sign in at/ }).waitFor();
    expect(await page.getByRole('alert').count()).toBe(0);
  });
});
