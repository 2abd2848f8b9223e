import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { canonicalBytes, type Json } from '#bundles/json/canonical';
import { addDays, formatTime } from '#bundles/time';
import { loadSigningKey } from '#bundles/trust/keys/key';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { recordLinkStates } from '../../../scheduler/hub/questions/state/link-states.ts';
import { parseAllowance } from '../../../scheduler/hub/sites/tokens/allowance.ts';
import { createToken } from '../../../scheduler/hub/sites/tokens/create-token.ts';
import { builtPage } from '../../harness/run/built-programs.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { decisionServer } from '../../scheduler/hub/http/decisions/decision-server.ts';
import { NOW } from '../../scheduler/release/removals/office.ts';
import { axeFindings, scrollsSideways, startBrowser } from './browser.ts';
import { HOSTILE } from './hub-page.ts';
import { signIn } from './sign-in.ts';

const TERMS = { note: undefined, expires: addDays(NOW, 30), now: NOW };

/** A hub whose prod is promoted from qa, with the built page. */
const startOffice = async (browser: Browser, page: string, files: Readonly<Record<string, string>> = {}) => {
  await using starting = new AsyncDisposableStack();
  const made = starting.use(await decisionServer({ page }, files));
  const link = { from: 'qa', to: 'prod', mode: 'manual', state: 'ready', candidate: null };
  await recordLinkStates(
    made.store,
    [{ ...link, waitsFor: null, unmet: [], why: null }],
    formatTime(addDays(NOW, -2)),
  );
  await made.server.listen({ host: '127.0.0.1', port: 0 });
  const { port } = made.server.server.address() as AddressInfo;
  const reader = async (): Promise<string> =>
    (await createToken(made.store, { scope: 'reader' }, TERMS)).token;
  const token = await reader();
  const decider = async (...allowances: readonly string[]): Promise<string> => {
    const order = { scope: 'decide', person: 'mara', allowances: allowances.map(parseAllowance) } as const;
    return (await createToken(made.store, order, TERMS)).token;
  };
  const running = starting.move();
  return {
    made,
    decider,
    reader,
    open: (options: Parameters<typeof signIn>[2] = {}) =>
      signIn(browser, { url: `http://127.0.0.1:${port}`, token, path: '/pipeline' }, options),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
};

const decide = async (page: Page, verb: string, reason: string, token?: string): Promise<void> => {
  await page.getByRole('button', { name: `${verb} qa to prod` }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('Reason').fill(reason);
  if (token !== undefined) await dialog.getByLabel('Token of a person').fill(token);
  await dialog.getByRole('button', { name: verb, exact: true }).click();
};

describeWith(['chromium'], 'the pipeline on the page', ({ chromium }) => {
  const world = new AsyncDisposableStack();
  let browser: Browser;
  let built: string;
  beforeAll(async () => {
    built = await builtPage(join(world.use(await temporaryDirectory('page-pipeline')).path, 'page'));
    browser = await startBrowser(chromium);
    world.defer(() => browser.close());
  });
  afterAll(() => world.disposeAsync());

  test('shows each condition of a gate, pauses, resumes and promotes the shown candidate', async () => {
    await using office = await startOffice(browser, built);
    await using tab = await office.open();
    const { page, faults } = tab;
    const gate = page.getByRole('region', { name: 'Gate of prod' });
    expect(await gate.getByRole('row', { name: /^released met/ }).count()).toBe(1);

    const token = await office.decider('pause:prod', 'resume:prod', 'promote:prod');
    await decide(page, 'Pause', HOSTILE, token);
    await page.getByRole('button', { name: 'Resume qa to prod' }).waitFor();
    expect(await page.getByRole('main').textContent()).toContain(HOSTILE);
    expect(await page.getByRole('button', { name: 'Promote qa to prod' }).count()).toBe(0);

    await decide(page, 'Resume', 'counted');
    await page.getByRole('button', { name: 'Promote qa to prod' }).waitFor();
    // What it would change is there before the button.
    await page.getByRole('button', { name: 'Promote qa to prod' }).click();
    const dialog = page.getByRole('dialog');
    await expect
      .poll(() => dialog.textContent())
      .toMatch(/Changes in prod: 1 added labels on press, added: [^]*\+.*path: \/opt\/labels/);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await decide(page, 'Promote', 'line 3 asked for it');
    await page.getByRole('region', { name: 'Promotions to prod' }).waitFor();
    expect(await page.getByRole('row', { name: /^1, current/ }).textContent()).toContain(
      'line 3 asked for it',
    );
    const decided = (await office.made.office.entries()).map(({ predicate }) => predicate);
    expect(decided).toMatchObject([
      { decision: 'pause', person: 'mara', reason: HOSTILE },
      { decision: 'resume', person: 'mara', reason: 'counted' },
      { person: 'mara', reason: 'line 3 asked for it' },
    ]);

    // Each of them is in the audit log, with its person.
    await page.getByRole('link', { name: 'Audit log' }).click();
    const entries = page.getByRole('region', { name: 'Entries' });
    await entries.waitFor();
    expect(await entries.getByRole('row').nth(1).textContent()).toMatch(/^3.*prodpromotion 1 from qa.*mara/);
    expect(await entries.getByRole('row', { name: /^1 / }).textContent()).toContain(HOSTILE);
    expect(await page.getByRole('main').locator('img, b').count()).toBe(0);
    expect(faults).toEqual([]);
  });

  test('shows an approver the changes and the command for this candidate, until the approval is there', async () => {
    await using office = await startOffice(browser, built, {
      'platform/promotion/qa-to-prod.yaml':
        'apiVersion: fleet-ferry/v1alpha1\nkind: PromotionPolicy\nmetadata:\n  name: qa-to-prod\nspec:\n  from: qa\n  to: prod\n  approvals: {required: 1, notAuthor: false}\n',
    });
    await using tab = await office.open();
    const { page, faults } = tab;
    await page.getByRole('button', { name: 'Approve qa to prod' }).click();
    const dialog = page.getByRole('dialog');
    await expect
      .poll(() => dialog.textContent())
      .toMatch(/Changes in prod: 1 added labels on press, added: [^]*\+.*path: \/opt\/labels/);
    const shown = dialog.locator('pre').last();
    const command = (await shown.textContent()) ?? '';
    // Without being scrolled sideways.
    expect(await shown.evaluate((pre) => getComputedStyle(pre).whiteSpace)).toBe('pre-wrap');
    const caller = office.made.callerWith(await office.decider('read:prod', 'approve:prod'));
    const draft = (await caller.get('prod/approval?person=ann&reason=ok')).json;
    const { candidate } = (await caller.get('prod/gate')).json;
    expect(candidate).toMatch(/^sha256:/);
    expect(command).toBe(
      `fleet-scheduler approve --to prod --candidate ${String(candidate)} --key your.key --person you --reason "why"`,
    );
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });

    const key = loadSigningKey(await readFile(join(office.made.office.folder, 'keys', 'bundle.key'), 'utf8'));
    const signed = await signPayload(canonicalBytes(draft as Json), key);
    const answer = await caller.post('prod/approvals', {
      statement: JSON.parse(signed.toString()) as object,
    });
    expect(answer.json).toMatchObject({ outcome: 'appended' });
    await page.reload();
    await page.getByRole('button', { name: 'Promote qa to prod' }).waitFor();
    expect(await page.getByRole('button', { name: 'Approve qa to prod' }).count()).toBe(0);
    expect(faults).toEqual([]);
  });

  test('keeps a reason that was not sent for its candidate and its person alone', async () => {
    await using office = await startOffice(browser, built);
    await using tab = await office.open();
    const { page, faults } = tab;
    const promote = page.getByRole('button', { name: 'Promote qa to prod' });
    const reason = page.getByRole('dialog').getByLabel('Reason');
    const cancel = async (): Promise<void> => {
      await page.getByRole('button', { name: 'Cancel' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    };
    const offered = async (): Promise<string> => {
      await promote.click();
      const found = await reason.inputValue();
      await cancel();
      return found;
    };
    const type = async (text: string): Promise<void> => {
      await promote.click();
      await reason.fill(text);
      await cancel();
    };
    const enter = async (token: string): Promise<void> => {
      await page.getByLabel('Token', { exact: true }).fill(token);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await promote.waitFor();
    };
    const kept = (): Promise<string> => page.evaluate(() => JSON.stringify(sessionStorage));
    await type('works at line 3');
    await page.reload();
    expect(await offered()).toBe('works at line 3');

    // The gate has another candidate meanwhile.
    const gates = /v1\/environments\/prod\/gate/;
    let isAsked = false;
    await page.route(gates, async (route) => {
      const response = await route.fetch();
      const body = (await response.json()) as Record<string, unknown>;
      isAsked = true;
      await route.fulfill({ response, json: { ...body, candidate: `sha256:${'7'.repeat(64)}` } });
    });
    await page.reload();
    await promote.waitFor();
    expect(isAsked).toBe(true);
    expect(await offered()).toBe('');
    await page.unroute(gates);
    await page.reload();
    expect(await offered()).toBe('works at line 3');

    // The session ends, and somebody else signs in.
    await page.evaluate(() => sessionStorage.setItem('fleet-ferry-token', 'ffr_ended'));
    await page.reload();
    await enter(await office.reader());
    expect(await offered()).toBe('');
    expect(await kept()).not.toContain('works at line 3');

    await type('works at line 4');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token', { exact: true }).waitFor();
    expect(await kept()).toBe('{}');
    expect(faults).toEqual([]);
  });

  test('shows why the hub refuses a token, decides nothing, and asks for another token', async () => {
    await using office = await startOffice(browser, built);
    await using tab = await office.open();
    const { page } = tab;
    await decide(page, 'Promote', 'not mine to decide', await office.decider('pause:prod'));
    const dialog = page.getByRole('dialog');
    expect(await dialog.getByRole('alert').textContent()).toMatch(/^[A-Z_]+/);
    expect(await office.made.office.entries()).toEqual([]);
    await dialog.getByLabel('Token of a person').fill(await office.decider('promote:prod'));
    await dialog.getByRole('button', { name: 'Promote', exact: true }).click();
    await page.getByRole('region', { name: 'Promotions to prod' }).waitFor();
  });

  test('fits a phone without serious findings of axe, with and without a dialog', async () => {
    await using office = await startOffice(browser, built);
    await using tab = await office.open({ bypassCSP: true, viewport: { width: 320, height: 640 } });
    const { page } = tab;
    const dialog = page.getByRole('dialog');
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme });
      await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor();
      const rules = colorScheme === 'light' ? undefined : ['color-contrast'];
      expect(await axeFindings(page, rules)).toEqual([]);
      expect(await scrollsSideways(page)).toBe(false);
      await page.getByRole('button', { name: 'Reject qa to prod' }).click();
      await dialog.getByLabel('Reason').waitFor();
      await expect.poll(() => axeFindings(page, rules)).toEqual([]);
      if (colorScheme === 'light') await page.keyboard.press('Escape');
      else await page.getByRole('button', { name: 'Cancel' }).click();
      await expect.poll(() => dialog.count()).toBe(0);
    }
    expect(await office.made.office.entries()).toEqual([]);
  });

  test('shows the typed token on request, and rejects a candidate', async () => {
    await using office = await startOffice(browser, built);
    await using tab = await office.open();
    const { page, faults } = tab;
    await page.getByRole('button', { name: 'Reject qa to prod' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Reason').fill('smells of smoke');
    const token = dialog.getByLabel('Token of a person');
    await token.fill(await office.decider('reject:prod'));
    expect(await token.getAttribute('type')).toBe('password');
    await dialog.getByRole('button', { name: 'Show the token' }).click();
    expect(await token.getAttribute('type')).toBe('text');
    await dialog.getByRole('button', { name: 'Reject', exact: true }).click();
    await dialog.waitFor({ state: 'detached' });
    const [entry] = await office.made.office.entries();
    expect(entry?.predicate).toMatchObject({ decision: 'reject', person: 'mara', reason: 'smells of smoke' });
    expect(faults).toEqual([]);
  });
});
