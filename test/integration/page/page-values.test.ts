import { mkdir, readFile, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, Page, Request } from 'playwright-core';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addDays } from '#bundles/time';
import { createServer } from '../../../scheduler/hub/http/create-server.ts';
import { createMetrics } from '../../../scheduler/hub/http/metrics/metrics.ts';
import { notePresence } from '../../../scheduler/hub/http/note-presence.ts';
import { openHub } from '../../../scheduler/hub/open-hub.ts';
import { setManyValues } from '../../../scheduler/hub/sites/set-many-values.ts';
import { revokeAgent } from '../../../scheduler/hub/sites/revoke-agent.ts';
import { siteSigner } from '../../../scheduler/hub/sites/site-signer.ts';
import { parseAllowance } from '../../../scheduler/hub/sites/tokens/allowance.ts';
import { createToken } from '../../../scheduler/hub/sites/tokens/create-token.ts';
import { markTokenRevoked } from '../../../scheduler/hub/sites/tokens/list-tokens.ts';
import { valuesAt } from '../../../scheduler/hub/sites/values-at.ts';
import type { OpenValues } from '../../../scheduler/hub/promote/values/decide-in-repository.ts';
import { readConfiguration } from '../../../scheduler/settings/configuration.ts';
import type { ValuesReview } from '../../../scheduler/settings/values-review.ts';
import { openOffice } from '../../e2e/office.ts';
import { builtPage } from '../../harness/run/built-programs.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { succeed } from '../../harness/run/run-command.ts';
import { LONG } from '../../harness/run/long.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { valuesServer } from '../../scheduler/hub/http/values/values-server.ts';
import { bringHome, decide, setThere } from '../../scheduler/hub/promote/values/local-hub.ts';
import { type INPUTS, release } from '../../scheduler/hub/promote/values/values-hub.ts';
import { NOW } from '../../scheduler/hub/test-hub.ts';
import { carryHome, carryOut, enroll, startSite, withoutUnits } from '../agent/folder-site.ts';
import { axeFindings, scrollsSideways, startBrowser, takeWebp, unreachedByTab } from './browser.ts';
import { signIn } from './sign-in.ts';

const ONE: ValuesReview = { approvals: { required: 1, from: [], notAuthor: true }, roles: {} };
const SIZES = [
  { width: 1200, height: 800 },
  { width: 768, height: 1024 },
  { width: 320, height: 640 },
];

/** A hub with values of sites, the built page, and a tab of an editor at the form of plant-7. */
const startForm = async (
  browser: Browser,
  page: string,
  {
    review,
    allow = ['values:*'],
    ...options
  }: {
    readonly review?: ValuesReview;
    readonly allow?: readonly string[];
    readonly open?: OpenValues;
  } = {},
) => {
  await using starting = new AsyncDisposableStack();
  const made = starting.use(await valuesServer(review, { page, ...options }));
  await made.server.listen({ host: '127.0.0.1', port: 0 });
  const url = `http://127.0.0.1:${(made.server.server.address() as AddressInfo).port}`;
  const ann = await made.caller('ann', ...allow);
  const running = starting.move();
  return {
    made,
    ann,
    open: (path = '/values/plant-7', options: Parameters<typeof signIn>[2] = {}) =>
      signIn(browser, { url, token: ann.token, path }, options),
    url,
    values: async () => (await valuesAt(made.hub.store.db, 'plant-7'))?.document.values,
    /** Another person changes a value meanwhile. */
    set: async (person: string, set: Readonly<Record<string, number>>) => {
      const changes = [{ site: 'plant-7', set, unset: [] }];
      const by = { person, reason: 'urgent' };
      await setManyValues(made.hub.store, { changes, signer: await siteSigner(made.hub), now: NOW, by });
    },
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
};

/** Site inputs with everything that the form shows of them. */
const SHOWN: typeof INPUTS = {
  line: {
    type: 'integer',
    minimum: 1,
    title: 'Production line',
    description: 'Number of the line that the host stands at.',
    examples: [7],
    'x-editable-by': 'site',
  },
  gate: { type: 'string', title: 'Gateway', default: '10.0.0.254', 'x-editable-by': 'network' },
  torque: {
    type: 'number',
    minimum: 0,
    maximum: 80,
    default: 45,
    title: 'Limit of the torque',
    'x-unit': 'Nm',
    'x-editable-by': 'site',
  },
  shift: { enum: ['day', 'night'], type: 'string', default: 'day', title: 'Shift' },
};

const field = (page: Page, name: string) => page.getByRole('region', { name: `${name} of plant-7` });
const override = (page: Page, name: string): Promise<void> =>
  page.getByRole('button', { name: `Override here: ${name} of plant-7` }).click();
const submit = async (page: Page, button: string, reason: string): Promise<void> => {
  await page.getByRole('button', { name: 'Preview', exact: true }).click();
  await page.getByLabel('Reason').fill(reason);
  await page.getByRole('button', { name: button }).click();
};

describeWith(['chromium'], 'the form of values on the page', ({ chromium }) => {
  const world = new AsyncDisposableStack();
  let browser: Browser;
  let built: string;
  beforeAll(async () => {
    built = await builtPage(join(world.use(await temporaryDirectory('page-values')).path, 'page'));
    browser = await startBrowser(chromium);
    world.defer(() => browser.close());
  });
  afterAll(() => world.disposeAsync());

  test('the view of a site has its values with their origin, once the section is opened', async () => {
    await using form = await startForm(browser, built);
    await form.ann.post('changes', { site: 'plant-7', set: { gate: '10.7.0.1' }, reason: 'new gateway' });
    const { token } = await form.made.reader();
    await using tab = await signIn(browser, { url: form.url, token, path: '/sites/plant-7' });
    const section = tab.page.locator('details', { hasText: 'Values of this site, with their origin' });
    const table = tab.page.getByRole('region', { name: 'Values of plant-7' });
    await section.waitFor();
    expect(await table.count()).toBe(0);
    await section.locator('summary').click();
    await table.waitFor();
    expect(await table.textContent()).toMatch(/10\.7\.0\.1"? \(value of the site\) by ann, .*: new gateway/);
    await section.locator('summary').click();
    await expect.poll(() => table.count()).toBe(0);
    await section.locator('summary').click();
    await table.waitFor();
    expect(tab.faults).toEqual([]);
  });

  test('an entry of the audit log about the values of a site without agents leads to the view of the site', async () => {
    await using office = await startForm(browser, built);
    const { hub } = office.made;
    await office.set('mara', { line: 4 });
    await revokeAgent(hub.store, 'plant-7/press-1', await siteSigner(hub), NOW);
    const reader = await createToken(
      hub.store,
      { scope: 'reader' },
      { note: undefined, expires: addDays(NOW, 30), now: NOW },
    );
    await using tab = await signIn(
      browser,
      { url: office.url, token: reader.token, path: '/values/plant-7' },
      {},
    );
    await tab.page.getByText('No agent of this site is enrolled.').waitFor();
    expect(new URL(tab.page.url()).pathname).toMatch(/\/sites\/plant-7$/);
    expect(tab.faults.filter((fault) => !fault.includes('404'))).toEqual([]);
  });

  test('overrides an inherited value after a preview, names its origin, removes it again, and shows both in the history', async () => {
    await using form = await startForm(browser, built);
    const sizes: Promise<number>[] = [];
    await using tab = await form.open('/values');
    const { page, faults } = tab;
    // The form asks for open proposals beside, which may end with the page.
    const sizeOf = (request: Request): Promise<number> =>
      request.sizes().then(
        (one) => one.responseBodySize,
        () => 0,
      );
    page.on('requestfinished', (request) => sizes.push(sizeOf(request)));
    // From the first byte on: the page with the library of forms stays below 400 kB on the line.
    await page.goto(`${form.url}/ui/values/plant-7`);
    await override(page, 'line');
    const line = page.getByLabel('line', { exact: true });
    const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    expect(bytes).toBeLessThanOrEqual(400_000);
    await line.fill('0');
    await expect.poll(() => field(page, 'line').textContent()).toContain('1');
    expect(await page.getByRole('button', { name: 'Preview', exact: true }).isDisabled()).toBe(true);
    await line.fill('7');
    await submit(page, 'Make the change', 'the line is known');
    await page.getByRole('status').filter({ hasText: 'plant-7 is at statement' }).waitFor();
    expect(await form.values()).toEqual({ line: 7 });
    await expect
      .poll(() => field(page, 'line').textContent())
      .toMatch(/Given here by ann, .*: the line is known/);

    await page.getByRole('button', { name: 'Remove the override: line of plant-7' }).click();
    await page.getByRole('button', { name: 'Preview', exact: true }).click();
    const preview = page.getByRole('region', { name: 'Preview' });
    await preview.getByRole('row', { name: 'plant-7 line 7 no value' }).waitFor();
    expect(await preview.textContent()).toContain('app on press-1 (line)');
    await page.getByLabel('Reason').fill('as everywhere');
    await page.getByRole('button', { name: 'Make the change' }).click();
    await page.getByRole('row', { name: /ann: as everywhere line: 7 → nothing/ }).waitFor();
    expect(await form.values()).toEqual({});

    // Undo.
    await page
      .getByRole('row', { name: /the line is known/ })
      .getByRole('button')
      .click();
    await page.getByRole('dialog').getByLabel('Reason').fill('it was right');
    await page.getByRole('dialog').getByRole('button', { name: 'Go back' }).click();
    await page.getByRole('row', { name: /ann: it was right line: nothing → 7/ }).waitFor();
    expect(await form.values()).toEqual({ line: 7 });
    expect(faults).toEqual([]);
  });

  test('offers only what editableBy grants at the site, and names the reason at the rest', async () => {
    await using form = await startForm(browser, built, { allow: ['values:site=plant-7:network'] });
    await using tab = await form.open('/values');
    const { page, faults } = tab;
    expect(
      await page
        .getByRole('region', { name: 'Sites' })
        .getByRole('link', { name: /plant/ })
        .allTextContents(),
    ).toEqual(['plant-7']);
    await page.getByRole('link', { name: 'plant-7' }).click();
    await field(page, 'gate').waitFor();
    expect(await field(page, 'line').getByRole('button').count()).toBe(0);
    expect(await field(page, 'line').textContent()).toContain('You may not change it here');
    await override(page, 'gate');
    await page.getByLabel('gate', { exact: true }).fill('10.0.0.1');
    await submit(page, 'Make the change', 'new gateway');
    await expect.poll(form.values).toEqual({ gate: '10.0.0.1' });
    expect(faults).toEqual([]);
  });

  test('keeps what was typed when the session ends in the middle, and never the text of a secret', async () => {
    await using form = await startForm(browser, built);
    await using tab = await form.open();
    const { page, faults } = tab;
    await override(page, 'gate');
    await page.getByLabel('gate', { exact: true }).fill('10.0.0.9');
    await override(page, 'adminPassword');
    const secret = page.getByLabel('adminPassword', { exact: true });
    await secret.fill('hunter2');
    expect(await secret.getAttribute('type')).toBe('password');
    const { id } = await form.made.hub.store.db
      .selectFrom('token')
      .select('id')
      .where('person', '=', 'ann')
      .executeTakeFirstOrThrow();
    await form.made.hub.store.transact((tx) => markTokenRevoked(tx, id, { person: null, reason: null }, NOW));
    await page.getByRole('button', { name: 'Preview', exact: true }).click();
    await page.getByLabel('Token', { exact: true }).waitFor();
    expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain('hunter2');
    const again = await form.made.caller('ann', 'values:*');
    await page.getByLabel('Token', { exact: true }).fill(again.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect.poll(() => page.getByLabel('gate', { exact: true }).inputValue()).toBe('10.0.0.9');
    await submit(page, 'Make the change', 'new gateway');
    await expect.poll(form.values).toEqual({ gate: '10.0.0.9' });
    expect(faults).toEqual([]);
  });

  test('shows at the field who changed a value that is being edited', async () => {
    await using form = await startForm(browser, built);
    await using tab = await form.open();
    const { page, faults } = tab;
    await override(page, 'line');
    await page.getByLabel('line', { exact: true }).fill('8');
    await form.set('carl', { line: 9 });
    await page.getByRole('button', { name: 'Preview', exact: true }).click();
    await expect
      .poll(() => field(page, 'line').textContent())
      .toContain('carl changed the value line of plant-7');
    expect(await page.getByRole('button', { name: 'Make the change' }).count()).toBe(0);
    await page.reload();
    const alert = field(page, 'line').getByRole('alert');
    await alert.filter({ hasText: 'carl changed this value while you edited it: it is now 9' }).waitFor();
    expect(await alert.textContent()).toContain('Yours: 8');
    await page.getByRole('button', { name: 'Keep my edit: line of plant-7' }).click();
    await submit(page, 'Make the change', 'agreed with carl');
    await expect.poll(form.values).toEqual({ line: 8 });
    // The other choice, once the form has the answer.
    await page.getByRole('status').filter({ hasText: 'plant-7 is at statement' }).waitFor();
    await field(page, 'line').getByText('agreed with carl').waitFor();
    await page.getByLabel('line', { exact: true }).fill('5');
    await form.set('carl', { line: 9 });
    await page.reload();
    await page.getByRole('button', { name: 'Take theirs: line of plant-7' }).click();
    await expect.poll(() => field(page, 'line').textContent()).toMatch(/Given here by carl/);
    expect(await page.getByLabel('line', { exact: true }).inputValue()).toBe('9');
    expect(faults).toEqual([]);
  });

  test('names at the field who proposed another value in the repository, for the site or a layer of it', async () => {
    const proposal = { environment: 'prod', name: 'line', person: 'bert', at: '2026-11-23T08:00:00Z' };
    const everywhere: Readonly<Record<string, string>> = {};
    await using form = await startForm(browser, built, {
      open: async () => [
        {
          ...proposal,
          siteSelector: everywhere,
          branch: 'fleet-ferry/edit-1',
          pullRequest: 'https://forge.example/pulls/1',
        },
        {
          ...proposal,
          siteSelector: { site: 'plant-7' },
          branch: 'fleet-ferry/edit-2',
          pullRequest: undefined,
        },
        {
          ...proposal,
          siteSelector: { site: 'plant-9' },
          branch: 'fleet-ferry/edit-3',
          pullRequest: undefined,
        },
        {
          ...proposal,
          environment: 'qa',
          siteSelector: everywhere,
          branch: 'fleet-ferry/edit-4',
          pullRequest: undefined,
        },
      ],
    });
    await using tab = await form.open();
    const line = field(tab.page, 'line');
    const link = line.getByRole('link', { name: 'open pull request' });
    await link.waitFor();
    expect(await link.getAttribute('href')).toBe('https://forge.example/pulls/1');
    const said = (await line.textContent()) ?? '';
    expect(said).toContain('bert proposed another value for all sites');
    expect(said).toContain('bert proposed another value for site=plant-7');
    expect(said).not.toMatch(/plant-9|edit-4/);
    expect(await field(tab.page, 'gate').textContent()).not.toContain('proposed');
    expect(tab.faults).toEqual([]);
  });

  test('sets one value at all sites with a label, names the site where the person may not, and leaves it out', async () => {
    await using form = await startForm(browser, built, { allow: ['read:*', 'values:site=plant-8'] });
    await form.made.hub.store.db.updateTable('agent').set({ labels: '{"country":"no"}' }).execute();
    await using tab = await form.open('/values', { bypassCSP: true });
    const { page } = tab;
    await page.getByLabel('Labels').fill('country=no');
    await page.getByRole('button', { name: 'Show' }).click();
    await page.getByRole('link', { name: 'Change values of all sites with these labels' }).click();
    await page.getByText('3 sites', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Set at all: gate' }).click();
    await page.getByLabel('gate', { exact: true }).fill('10.7.0.1');
    await page.getByRole('button', { name: 'Preview', exact: true }).click();
    const preview = page.getByRole('region', { name: 'Preview' });
    const refusals = preview.getByRole('alert').getByRole('listitem');
    await expect.poll(() => refusals.count()).toBe(2);
    expect(await refusals.allTextContents()).toEqual([
      expect.stringMatching(/^plant-7, TOKEN_SCOPE: .*gate of plant-7/),
      expect.stringMatching(/^plant-9, TOKEN_SCOPE: .*gate of plant-9/),
    ]);
    expect(await page.getByRole('button', { name: 'Make the change' }).count()).toBe(0);
    expect(await axeFindings(page)).toEqual([]);
    await page.setViewportSize({ width: 320, height: 640 });
    await expect.poll(() => scrollsSideways(page)).toBe(false);
    expect(await unreachedByTab(page)).toEqual([]);
    await page.getByRole('button', { name: 'Leave out these 2 sites' }).click();
    await page.getByText('Left out: plant-7, plant-9').waitFor();
    await page.getByLabel('Reason').fill('one gateway for all');
    await preview.getByRole('row', { name: /^plant-8 .*gate .*no value .*"10\.7\.0\.1"$/ }).waitFor();
    await page.getByRole('button', { name: 'Make the change' }).click();
    await page.getByRole('status').filter({ hasText: 'plant-8 is at statement' }).waitFor();
    const given = async (site: string) => (await valuesAt(form.made.hub.store.db, site))?.document.values;
    expect(await given('plant-8')).toEqual({ gate: '10.7.0.1' });
    expect(await given('plant-9')).toEqual({});
    await page.getByText(/at 1; others or none at 2/).waitFor();
  });

  test('makes at many sites only what the preview showed: a value that somebody changed since is refused', async () => {
    await using form = await startForm(browser, built, { allow: ['read:*', 'values:*'] });
    await form.made.hub.store.db.updateTable('agent').set({ labels: '{"country":"no"}' }).execute();
    await using tab = await form.open('/values/select/sites?select=country%3Dno', { bypassCSP: true });
    const { page } = tab;
    await page.getByRole('button', { name: 'Set at all: line' }).click();
    await page.getByLabel('line', { exact: true }).fill('5');
    await page.getByRole('button', { name: 'Preview', exact: true }).click();
    await page.getByLabel('Reason').fill('one line for all');
    await form.set('carl', { line: 9 });
    // The form shows what the hub knows now, the preview what it was about.
    await page.getByText(/at 1; others or none at 2/).waitFor();
    await page.getByRole('button', { name: 'Make the change' }).click();
    await page.getByText('carl changed the value line of plant-7').waitFor();
    await expect.poll(form.values).toEqual({ line: 9 });
  });

  test('shows a value that a person set at the site until the office has answered, and whose it is then', async () => {
    await using form = await startForm(browser, built);
    const { hub } = form.made;
    await release(hub, 2, SHOWN);
    await form.set('carl', { line: 9 });
    await bringHome(hub, hub.agent, [setThere(hub.agent, { name: 'line', value: 8, given: 9 })]);
    await using tab = await form.open();
    const { page, faults } = tab;
    const line = field(page, 'Production line');
    await line.getByText('It counts there until the office accepts or refuses it').waitFor();
    expect(await line.textContent()).toMatch(
      /Set at the site: 8 \(local value\) by anna.*: line 7 is being rebuilt/,
    );
    expect(await decide(hub, { localEdits: 'accept' })).toMatchObject([
      { name: 'line', outcome: 'accepted' },
    ]);
    await page.reload();
    await line.getByText(/Given here by anna/).waitFor();
    expect(await page.getByLabel('Production line', { exact: true }).inputValue()).toBe('8');
    expect(faults).toEqual([]);
  });

  test('an editor, whom the overview refuses, begins at the values', async () => {
    await using form = await startForm(browser, built, { allow: ['values:site=plant-7:network'] });
    await using tab = await form.open('/values');
    const { page, faults } = tab;
    await page.goto(`${form.url}/ui/`);
    await page.getByRole('heading', { level: 1, name: 'Values of sites' }).waitFor();
    expect(page.url()).toMatch(/\/ui\/values$/);
    expect(faults).toEqual([]);
  });

  test('fits three sizes in both schemes, works by keyboard, and has no serious finding of axe', async () => {
    await using form = await startForm(browser, built, { review: ONE });
    await release(form.made.hub, 2, SHOWN);
    await form.set('carl', { line: 9 });
    await form.ann.post('changes', { site: 'plant-7', set: { gate: '10.7.0.1' }, reason: 'new gateway' });
    await using tab = await form.open('/values', { bypassCSP: true });
    const { page } = tab;
    const pictures = process.env['FLEET_SCREENSHOTS'];
    const examine = async (name: string): Promise<void> => {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        await page.locator(`html[data-mantine-color-scheme=${colorScheme}]`).waitFor();
        for (const size of SIZES) {
          await page.setViewportSize(size);
          await expect.poll(() => scrollsSideways(page)).toBe(false);
          // The schemes differ in their colours only, and those do not depend on the size.
          const rules = colorScheme === 'light' ? undefined : ['color-contrast'];
          if (LONG || colorScheme === 'light' || size === SIZES[0])
            expect(await axeFindings(page, rules), `${name} ${colorScheme} ${size.width}`).toEqual([]);
          if (pictures === undefined || size !== SIZES[0]) continue;
          await mkdir(pictures, { recursive: true });
          await page.evaluate(() => scrollTo(0, 0));
          await writeFile(join(pictures, `${name}-${colorScheme}.webp`), await takeWebp(page));
        }
      }
      expect(await unreachedByTab(page)).toEqual([]);
    };
    await page.getByRole('heading', { name: 'Waiting for review' }).waitFor();
    await examine('page-values-review');
    await page.getByRole('link', { name: 'plant-7', exact: true }).first().click();
    await page.getByLabel('Production line', { exact: true }).fill('8');
    await override(page, 'Limit of the torque (Nm)');
    await page.getByLabel('Limit of the torque (Nm)', { exact: true }).fill('90.5');
    await expect.poll(() => field(page, 'Limit of the torque (Nm)').textContent()).toContain('80');
    await examine('page-values-fault');
    // Leaving the field does not change what was typed.
    expect(await page.getByLabel('Limit of the torque (Nm)', { exact: true }).inputValue()).toBe('90.5');
    await page.getByLabel('Limit of the torque (Nm)', { exact: true }).fill('60.5');
    await override(page, 'Shift');
    await page.getByRole('combobox', { name: 'Shift' }).click();
    await page.getByRole('option', { name: 'night' }).click();
    await page.getByRole('button', { name: 'Preview', exact: true }).click();
    await page.getByLabel('Reason').fill('the line was moved');
    await examine('page-values-form');
    await page.getByRole('button', { name: 'Submit for review' }).click();
    await page.getByRole('status').filter({ hasText: 'Submitted for review' }).waitFor();
    await field(page, 'Shift').getByText('waits for review').waitFor();
  });

  test('a change by a person without Git is approved by another, reaches the plant on a medium, is reported home, and is undone', async () => {
    await using folder = await temporaryDirectory('page-walk');
    const office = await openOffice(folder.path);
    await withoutUnits(office);
    await office.edit('fleet-scheduler.yaml', (text) => `${text}siteValues: {approvals: {required: 1}}\n`);
    await office.build();
    const plant = await startSite(office, 'plant-7');
    await enroll(office, plant, 'prod/factory-host');
    const approve = async (proposal: string): Promise<void> => {
      const key = join(folder.path, 'keys', 'bundle.key');
      succeed(
        await office.scheduler('sites', 'values', 'approve', proposal, '--key', key, '--person', 'bob'),
      );
    };
    const waiting = async (): Promise<string> => {
      const { proposals } = JSON.parse(
        succeed(await office.scheduler('sites', 'values', 'proposals', '--json')).stdout,
      ) as { readonly proposals: readonly { readonly id: string }[] };
      return (proposals[0]?.id ?? '').replace('sha256:', '').slice(0, 12);
    };
    // The line that the enrolment of the plant gave it waits for an approval, too.
    await approve(await waiting());
    await carryOut(office, plant);
    const line = async (): Promise<number> =>
      (
        JSON.parse(await readFile(join(plant.host, 'etc/scale-reader/scale.json'), 'utf8')) as {
          line: number;
        }
      ).line;
    expect(await line()).toBe(7);

    const configuration = await readConfiguration(
      { config: join(folder.path, 'fleet-scheduler.yaml') },
      folder.path,
    );
    await using hub = await openHub(configuration);
    const now = new Date();
    const clock = () => new Date();
    const log = pino({ level: 'silent' });
    const server = await createServer({
      context: {
        hub,
        authority: await hub.keys.authority(),
        signer: await siteSigner(hub),
        receiptKey: await hub.keys.key('receipt'),
        clock,
        metrics: createMetrics(hub.store.db, clock),
        presence: notePresence(hub.store, clock, log),
        onSiteChange: () => {},
        onReport: () => {},
      },
      log,
      page: built,
      values: { review: configuration.siteValues, readKeys: async () => hub.keys },
    });
    await using ending = new AsyncDisposableStack();
    ending.defer(async () => {
      await server.close();
    });
    await server.listen({ host: '127.0.0.1', port: 0 });
    const url = `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`;
    const allowances = ['values:site=plant-7:site'].map(parseAllowance);
    const order = { scope: 'decide', person: 'ann', allowances } as const;
    const terms = { note: undefined, expires: addDays(now, 1), now };
    const { token } = await createToken(hub.store, order, terms);
    await using tab = await signIn(browser, { url, token, path: '/values/plant-7' });
    const { page, faults } = tab;
    const number = page.getByLabel('Number of the production line', { exact: true });
    await number.fill('12');
    await submit(page, 'Submit for review', 'the host moved to line 12');
    await page.getByRole('status').filter({ hasText: 'Submitted for review' }).waitFor();
    await carryOut(office, plant);
    expect(await line()).toBe(7);

    // The second person reads the diff on the page, and approves with their own key.
    await page.getByRole('navigation', { name: 'Breadcrumb' }).getByRole('link', { name: 'Values' }).click();
    const proposal = await waiting();
    const shown = page.getByRole('region', { name: `Proposal ${proposal}` });
    await shown.getByRole('row', { name: 'plant-7 lineNumber 7 12' }).waitFor();
    await approve(proposal);
    await carryOut(office, plant);
    expect(await line()).toBe(12);
    await carryHome(office, plant);
    const history = succeed(await office.scheduler('history', 'plant-7', '--since', '1d'));
    expect(history.stdout).toContain('lineNumber 7 -> 12');

    // Undo is a decision, too.
    await page.goto(`${url}/ui/values/plant-7`);
    await page
      .getByRole('row', { name: /lineNumber: nothing → 7/ })
      .getByRole('button')
      .click();
    await page.getByRole('dialog').getByLabel('Reason').fill('it moved back');
    await page.getByRole('dialog').getByRole('button', { name: 'Go back' }).click();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await approve(await waiting());
    await carryOut(office, plant);
    expect(await line()).toBe(7);
    expect(faults).toEqual([]);
  }, 240_000);
});
