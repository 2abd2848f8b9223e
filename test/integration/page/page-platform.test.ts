import { readFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Browser, Locator } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addDays } from '#bundles/time';
import { openAuthoring } from '../../../scheduler/author/serve/open-authoring.ts';
import { parseAllowance } from '../../../scheduler/hub/sites/tokens/allowance.ts';
import { createToken } from '../../../scheduler/hub/sites/tokens/create-token.ts';
import { markTokenRevoked } from '../../../scheduler/hub/sites/tokens/list-tokens.ts';
import { readConfiguration } from '../../../scheduler/settings/configuration.ts';
import { startForge } from '../../harness/neighbours/forge-server.ts';
import { commitFolder, makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { startGitServer } from '../../harness/neighbours/git-server.ts';
import { builtPage } from '../../harness/run/built-programs.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { runOrFail } from '../../harness/run/run-command.ts';
import { runScheduler } from '../../harness/run/run-scheduler.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { writeFiles } from '../../scheduler/file-tree.ts';
import { fleetPlatform } from '../../scheduler/fleet-platform.ts';
import { decisionServer } from '../../scheduler/hub/http/decisions/decision-server.ts';
import { NOW } from '../../scheduler/release/removals/office.ts';
import { axeFindings, scrollsSideways, startBrowser } from './browser.ts';
import { signIn } from './sign-in.ts';

const TERMS = { note: undefined, expires: addDays(NOW, 30), now: NOW };

/** A hub with the built page, whose platform is a repository with a forge. */
const startOffice = async (browser: Browser, page: string) => {
  await using starting = new AsyncDisposableStack();
  const root = starting.use(await temporaryDirectory('page-platform')).path;
  const git = starting.use(await startGitServer(join(root, 'git')));
  const bare = join(root, 'git/org/platform.git');
  const folder = join(root, 'work');
  await writeFiles(folder, fleetPlatform());
  await makeGitRepository(bare, { main: folder });
  const forge = starting.use(await startForge('github', bare, 'org/platform'));
  const platform = `${git.url}/org/platform.git#main:platform`;
  const env = {
    PATH: process.env['PATH'],
    HOME: root,
    GIT_CONFIG_NOSYSTEM: '1',
    FLEET_FORGE_TOKEN: 'a-token-that-nobody-may-see',
  };
  const configuration = {
    ...(await readConfiguration({ platform, cache: join(root, 'cache') }, root)),
    forge: `github=${forge.api}`,
  };
  const { signal } = new AbortController();
  const authoring = openAuthoring({ configuration, env, cwd: root, clock: () => NOW, signal });
  const made = starting.use(await decisionServer({ page, authoring }));
  await made.server.listen({ host: '127.0.0.1', port: 0 });
  const { port } = made.server.server.address() as AddressInfo;
  const { token: reader } = await createToken(made.store, { scope: 'reader' }, TERMS);
  const allowances = [parseAllowance('author:*')];
  const createAuthor = () => createToken(made.store, { scope: 'decide', person: 'Mara', allowances }, TERMS);
  const { token: author } = await createAuthor();
  const running = starting.move();
  return {
    root,
    bare,
    folder,
    forge,
    platform,
    author,
    createAuthor,
    revoke: (id: string) =>
      made.store.transact((tx) => markTokenRevoked(tx, id, { person: null, reason: null }, NOW)),
    git: async (...words: readonly string[]): Promise<string> =>
      (await runOrFail(['git', '--git-dir', bare, ...words], { env })).stdout.trim(),
    open: (options: Parameters<typeof signIn>[2] = {}, token = reader) =>
      signIn(browser, { url: `http://127.0.0.1:${port}`, token, path: '/platform' }, options),
    [Symbol.asyncDispose]: () => running.disposeAsync(),
  };
};

/** As a person does: Playwright's fill makes Chromium write style attributes into a field of several lines. */
const paste = (field: Locator, text: string): Promise<void> =>
  field.evaluate((element, pasted) => {
    const clipboardData = new DataTransfer();
    clipboardData.setData('text/plain', pasted);
    element.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true, cancelable: true }));
  }, text);

describeWith(['chromium'], 'the platform on the page', ({ chromium }) => {
  const world = new AsyncDisposableStack();
  let browser: Browser;
  let built: string;
  beforeAll(async () => {
    built = await builtPage(join(world.use(await temporaryDirectory('page-author')).path, 'page'));
    browser = await startBrowser(chromium);
    world.defer(() => browser.close());
  });
  afterAll(() => world.disposeAsync());

  test('a cluster type by the form, its preview, a pull request; merged, the build has its assignments', async () => {
    await using office = await startOffice(browser, built);
    await using tab = await office.open({ bypassCSP: false });
    const { page, faults } = tab;
    await page.getByLabel('Token of a person').fill(office.author);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('link', { name: 'Create: cluster type' }).click();
    await page.getByRole('heading', { level: 1, name: 'Create: cluster type' }).waitFor();
    await page.getByLabel('name', { exact: false }).first().fill('line');
    await page.getByLabel('labels', { exact: false }).first().fill('region: eu');
    await page.getByRole('button', { name: 'Preview' }).click();
    const changes = page.getByRole('region', { name: 'Assignments that change' });
    await changes.waitFor();
    expect(await changes.getByRole('row').allTextContents()).toEqual([
      'EnvironmentCluster typeAssignmentWhat',
      'qalineshop-webadded',
      'prodlineshop-webadded',
    ]);
    expect(
      await page.getByRole('region', { name: 'Difference of platform/base/line.yaml' }).textContent(),
    ).toContain('+  name: line');
    expect(office.forge.pulls).toEqual([]);
    await page.getByLabel('Reason').fill('a line for the north');
    await page.getByRole('button', { name: 'Save as pull request' }).click();
    await page.getByRole('link', { name: /pulls\/1$/ }).waitFor();
    expect(office.forge.pulls).toMatchObject([
      { title: 'Create ClusterType line', base: 'main', state: 'open' },
    ]);
    expect(faults).toEqual([]);

    const [{ head } = { head: '' }] = office.forge.pulls;
    expect(await office.git('log', '-1', '--format=%an', head)).toBe('Mara');
    await office.git('update-ref', 'refs/heads/main', head);
    const env = { PATH: process.env['PATH'], HOME: office.root };
    const run = (...words: readonly string[]) => runScheduler(office.root, words, env);
    expect(await run('root', 'init', '--dev', '--fleet', 'halden', '--keys', 'keys')).toMatchObject({
      code: 0,
    });
    const build = await run(
      'build',
      '--platform',
      office.platform,
      '--layout',
      'releases',
      '--keys',
      'keys',
      '--json',
    );
    expect(build.stdout).toContain('"clusterType": "line"');
    expect(await run('explain', 'line/shop-web', '--platform', office.platform, '-e', 'qa')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('line/shop-web'),
    });
  });

  test('an object as text, with its mistakes at their lines, and the second of two editors', async () => {
    await using office = await startOffice(browser, built);
    await using tab = await office.open({ bypassCSP: true, viewport: { width: 320, height: 640 } });
    const { page } = tab;
    await page.getByLabel('Token of a person').fill(office.author);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('link', { name: 'edge', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Cluster type edge' }).waitFor();
    await page.getByText('Text', { exact: true }).click();
    const text = page.getByLabel('platform/base/edge.yaml', { exact: true });
    const before = await readFile(join(office.folder, 'platform/base/edge.yaml'), 'utf8');
    expect(await text.textContent()).toContain('region: eu');
    await text.fill(before.replace('region: eu', 'region: 7'));
    await page.getByRole('button', { name: 'Preview' }).click();
    const alert = page.getByRole('alert');
    await alert.waitFor();
    expect(await alert.textContent()).toMatch(/base\/edge\.yaml:5:20 FIELD_INVALID: .*must be text/);
    expect(await page.getByRole('button', { name: /^Save/ }).count()).toBe(0);
    expect(await axeFindings(page)).toEqual([]);
    expect(await scrollsSideways(page)).toBe(false);

    await text.fill(before.replace('region: eu', 'region: us'));
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByLabel('Reason').fill('moved');
    await writeFiles(office.folder, { 'platform/base/edge.yaml': `# ours\n${before}` });
    await commitFolder(office.bare, 'main', office.folder, { message: 'A comment' });
    await page.getByText('commit', { exact: true }).click();
    await page.getByRole('button', { name: 'Save as commit' }).click();
    await alert.waitFor();
    expect(await alert.textContent()).toMatch(/EDIT_CONFLICT.*Fleet Ferry changed it meanwhile.*A comment/);
  });

  test('an edit that is not saved is there again after the session ended, a reload, and a commit by somebody else', async () => {
    await using office = await startOffice(browser, built);
    const first = await office.createAuthor();
    await using tab = await office.open({}, first.token);
    const { page, faults } = tab;
    await page.getByRole('link', { name: 'edge', exact: true }).click();
    await page.getByText('Text', { exact: true }).click();
    const file = 'platform/base/edge.yaml';
    const text = page.getByLabel(file, { exact: true });
    const before = await readFile(join(office.folder, file), 'utf8');
    await text.press('Control+a');
    await paste(text, before.replace('region: eu', 'region: us'));
    await expect.poll(() => text.textContent()).toContain('region: us');

    await office.revoke(first.row.id);
    const second = await office.createAuthor();
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByLabel('Token', { exact: true }).fill(second.token);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await expect.poll(() => text.textContent()).toContain('region: us');
    await page.reload();
    await expect.poll(() => text.textContent()).toContain('region: us');

    await writeFiles(office.folder, { [file]: `# ours\n${before}` });
    await commitFolder(office.bare, 'main', office.folder, { message: 'A comment' });
    await page.reload();
    await page.getByRole('status').filter({ hasText: 'Somebody changed this file' }).waitFor();
    expect(await text.textContent()).toContain('region: us');
    await page.getByRole('button', { name: 'Discard' }).click();
    await expect.poll(() => text.textContent()).toMatch(/# ours.*region: eu/);
    expect(await page.evaluate(() => JSON.stringify(sessionStorage))).not.toContain('region: us');

    // A new object has no file yet.
    await page.getByRole('link', { name: 'Platform' }).first().click();
    await page.getByRole('link', { name: 'Create: cluster type' }).click();
    const name = page.getByLabel('name', { exact: false }).first();
    await name.fill('line');
    await page.reload();
    await expect.poll(() => name.inputValue()).toBe('line');
    expect(faults).toEqual([]);
  });

  test('the editor of text shows the file again after Discard and after a pull request, and a form that nobody changed has nothing to discard', async () => {
    await using office = await startOffice(browser, built);
    await using tab = await office.open({}, (await office.createAuthor()).token);
    const { page, faults } = tab;
    const discard = page.getByRole('button', { name: 'Discard' });
    const preview = page.getByRole('button', { name: 'Preview' });
    await page.getByRole('link', { name: 'Create: cluster type' }).click();
    await preview.waitFor();
    expect(await discard.count()).toBe(0);
    await page.getByRole('link', { name: 'Platform' }).first().click();
    await page.getByRole('link', { name: 'edge', exact: true }).click();
    await preview.waitFor();
    expect(await discard.count()).toBe(0);

    await page.getByText('Text', { exact: true }).click();
    const file = 'platform/base/edge.yaml';
    const text = page.getByLabel(file, { exact: true });
    const before = await readFile(join(office.folder, file), 'utf8');
    const edit = async (): Promise<void> => {
      await text.press('Control+a');
      await paste(text, before.replace('region: eu', 'region: us'));
      await expect.poll(() => text.textContent()).toContain('region: us');
    };
    await edit();
    await discard.click();
    await expect.poll(() => text.textContent()).toContain('region: eu');

    await edit();
    await preview.click();
    await page.getByLabel('Reason').fill('moved');
    await page.getByRole('button', { name: 'Save as pull request' }).click();
    await page
      .getByRole('link', { name: /pulls\/1$/ })
      .first()
      .waitFor();
    await expect.poll(() => text.textContent()).toContain('region: eu');
    expect(await discard.count()).toBe(0);
    expect(faults).toEqual([]);
  });

  test('an edit can be previewed where the storage of the tab is full', async () => {
    await using office = await startOffice(browser, built);
    await using tab = await office.open({}, (await office.createAuthor()).token);
    const { page, faults } = tab;
    await page.getByRole('link', { name: 'Create: cluster type' }).click();
    const name = page.getByLabel('name', { exact: false }).first();
    await name.waitFor();
    await page.evaluate(() => {
      for (let at = 0, part = 'x'.repeat(2 ** 20); part !== ''; at += 1) {
        try {
          sessionStorage.setItem(`full ${at}`, part);
        } catch {
          part = part.slice(0, part.length / 2);
        }
      }
    });
    await name.fill('line');
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.getByRole('heading', { name: 'Preview' }).waitFor();
    expect(await name.inputValue()).toBe('line');
    expect(faults).toEqual([]);
  });

  test('the editor of text completes fields and values by the schema of the object, and describes them', async () => {
    await using office = await startOffice(browser, built);
    await using tab = await office.open();
    const { page, faults } = tab;
    const sizes: Promise<number>[] = [];
    page.on('requestfinished', (request) => sizes.push(request.sizes().then((one) => one.responseBodySize)));
    await page.reload();
    await page.getByLabel('Token of a person').fill(office.author);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('link', { name: 'edge', exact: true }).click();
    // The help of a text area, too, and with code as code.
    const main = page.getByRole('main');
    await main.getByText('Write it as YAML.').first().waitFor();
    expect(await main.textContent()).not.toContain('`');
    expect(await main.locator('code').allTextContents()).toContain('argocd');
    await page.getByText('Text', { exact: true }).click();
    const text = page.getByLabel('platform/base/edge.yaml', { exact: true });
    // Outside of fields this key opens the search.
    await text.press('Control+Home');
    await text.press('/');
    await expect.poll(() => text.textContent()).toMatch(/^\//);
    await text.press('Control+a');
    await paste(
      text,
      'apiVersion: fleet-ferry/v1alpha1\nkind: ClusterType\nmetadata:\n  name: edge\nspec:\n  off',
    );
    await text.press('Control+Space');
    const options = page.getByRole('option');
    await options.first().waitFor();
    expect(await options.allTextContents()).toEqual([expect.stringMatching(/^offlineboolean/)]);
    await options.first().click();
    await expect.poll(() => text.textContent()).toContain('offline: ');
    await text.press('Control+Space');
    await expect.poll(() => options.allTextContents()).toEqual(['true', expect.stringMatching(/^false/)]);
    await options.first().click();
    await expect.poll(() => text.textContent()).toContain('offline: true');
    await page.getByText('offline', { exact: true }).hover();
    const about = page.locator('.cm-tooltip-hover');
    await expect.poll(() => about.allTextContents()).toEqual([expect.stringContaining('offline: boolean')]);
    expect(await about.locator('code').allTextContents()).toEqual(['imagePullPolicy: Always']);
    // From the first byte on, with the libraries of forms, YAML and text together.
    const bytes = (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
    expect(bytes).toBeLessThanOrEqual(400_000);
    expect(faults).toEqual([]);
  });

  test('an environment by the form; a proposal of somebody else on the same file is announced until it is merged', async () => {
    await using office = await startOffice(browser, built);
    await using tab = await office.open();
    const { page, faults } = tab;
    await page.getByLabel('Token of a person').fill(office.author);
    await page.getByRole('button', { name: 'Continue' }).click();
    await page.getByRole('link', { name: 'Create: environment' }).click();
    await page.getByRole('heading', { level: 1, name: 'Create: environment' }).waitFor();
    await page.getByLabel('name', { exact: false }).first().fill('trial');
    await page.getByLabel('promotedFrom').fill('qa');
    await page.getByRole('button', { name: 'Preview' }).click();
    const diff = page.getByRole('region', { name: 'Difference of platform/fleet.yaml' });
    await expect.poll(() => diff.textContent()).toMatch(/\+.*name: trial/);
    await page.getByLabel('Reason').fill('trials of the north');
    await page.getByRole('button', { name: 'Save as pull request' }).click();
    const address = page.getByRole('link', { name: /pulls\/1$/ });
    await address.waitFor();

    const open = async (): Promise<void> => {
      await page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name: 'Platform' }).click();
      await page
        .getByRole('row', { name: /^Fleet / })
        .getByRole('link')
        .click();
      await page.getByRole('heading', { level: 1, name: /^Fleet and its environments/ }).waitFor();
      await page.getByRole('button', { name: 'Preview' }).waitFor();
    };
    await open();
    const waiting = page.getByRole('status').filter({ hasText: 'waits to be merged' });
    await waiting.waitFor();
    expect(await waiting.textContent()).toMatch(/Mara.*environment trial.*pulls\/1/);
    const [pull] = office.forge.pulls;
    if (pull) Object.assign(pull, { state: 'closed', merged: false });
    await open();
    expect(await waiting.count()).toBe(0);
    expect(faults).toEqual([]);
  });
});
