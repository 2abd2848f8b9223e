import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect, it } from 'vitest';
import { describeWith } from '../../harness/run/describe-with.ts';
import { builtPage } from '../../harness/run/built-programs.ts';
import { makeGitRepository } from '../../harness/neighbours/git-repository.ts';
import { programFile } from '../../harness/run/program-file.ts';
import { runCommand, succeed } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { withoutUnits } from '../agent/folder-site.ts';
import { startBrowser } from './browser.ts';
import { signIn } from './sign-in.ts';
import { enrolOnceReleased, type Office } from '../../e2e/office.ts';
import { eventsAtHub } from '../../e2e/reliability/hub-record.ts';
import { startOnlineOffice } from '../../e2e/reliability/online-office.ts';
import { makeProcess } from '../../e2e/reliability/process.ts';

const SITE = 'plant-7';
const AGENT = 'press-1';
const BUILT_PAGE = join(import.meta.dirname, '../../../scheduler/page/dist');
const COMPANY = `apiVersion: fleet-ferry/v1alpha1
kind: Config
metadata: {name: company}
spec:
  siteSelector: {}
  values: {lineNumber: 7}
`;

/** Commits the platform with a layer of all sites. @returns the platform's address */
const commitPlatform = async (office: Office): Promise<string> => {
  await withoutUnits(office);
  await mkdir(join(office.folder, 'platform/base/configs'), { recursive: true });
  await writeFile(join(office.folder, 'platform/base/configs/sites.yaml'), COMPANY);
  const work = join(office.folder, 'work');
  for (const part of ['platform', 'apps', 'images'])
    await cp(join(office.folder, part), join(work, part), { recursive: true });
  const repository = join(office.folder, 'platform.git');
  await makeGitRepository(repository, { main: work });
  return `file://${repository}#main:platform`;
};

describeWith(
  ['chromium', 'dockerRegistry'],
  'a value of a site, on line,',
  ({ chromium, dockerRegistry }) => {
    it('is changed by a person without Git, approved by another, taken by the agent, reported and undone; a local value becomes a layer', async () => {
      await builtPage(BUILT_PAGE);
      await using stack = new AsyncDisposableStack();
      const folder = stack.use(await temporaryDirectory('values-on-line')).path;
      const at = (name: string): string => join(folder, name);
      let platform = '';
      const office = stack.use(
        await startOnlineOffice(at('office'), {
          dockerRegistry,
          watches: true,
          prepare: async (made) => {
            platform = await commitPlatform(made);
            return { platform, siteValues: { approvals: { required: 1 } } };
          },
        }),
      );
      const command = async (...words: readonly string[]): Promise<string> =>
        succeed(await office.scheduler(...words, '--config', join(office.folder, 'hub.yaml'))).stdout;

      const env = {
        ...process.env,
        FLEET_AGENT_STATE: at('state'),
        FLEET_AGENT_ROOT: at('root'),
        FLEET_AGENT_SERVICES: 'none',
        FLEET_AGENT_HUB: office.hubAddress,
        FLEET_AGENT_REGISTRY: office.registryAddress,
        FLEET_AGENT_POLL: '1s',
        FLEET_AGENT_INTERVAL: '2s',
      };
      await mkdir(at('root'));
      const runAgent = (...words: readonly string[]) =>
        runCommand([process.execPath, programFile('agent'), ...words], { cwd: folder, env });
      await writeFile(at('token'), `${await office.token(SITE)}\n`);
      const identity = ['--site', SITE, '--name', AGENT, '--channel', 'prod/factory-host'];
      const trusted = ['--token-file', at('token'), '--root-sha256', office.rootSha256];
      await enrolOnceReleased(() => runAgent('enroll', ...identity, ...trusted));
      const agent = stack.use(
        makeProcess([process.execPath, programFile('agent'), 'run'], {
          cwd: folder,
          env,
          ready: '"msg":"started"',
        }),
      );
      await agent.start();
      const line = async (): Promise<unknown> => {
        const text = await readFile(at('root/etc/scale-reader/scale.json'), 'utf8').catch(() => '{}');
        return (JSON.parse(text) as { readonly line?: number }).line;
      };
      const runsLine = (number: number): Promise<void> =>
        expect.poll(line, { timeout: 120_000, message: office.hub.log().slice(-1000) }).toBe(number);
      // The layer of all sites.
      await runsLine(7);

      const browser = await startBrowser(chromium);
      stack.defer(() => browser.close());
      const tokens = [
        'tokens',
        'create',
        '--person',
        'ann',
        '--allow',
        `values:site=${SITE}:site`,
        '--allow',
        'read:*',
      ];
      const { token } = JSON.parse(await command(...tokens, '--json')) as { readonly token: string };
      const tab = stack.use(
        await signIn(
          browser,
          { url: office.hubAddress, token, path: `/values/${SITE}` },
          { ignoreHTTPSErrors: true },
        ),
      );
      const { page, faults } = tab;
      const waiting = async (): Promise<string> => {
        const { proposals } = JSON.parse(await command('sites', 'values', 'proposals', '--json')) as {
          readonly proposals: readonly { readonly id: string }[];
        };
        return (proposals[0]?.id ?? '').slice('sha256:'.length, 'sha256:'.length + 12);
      };
      const approve = async (): Promise<void> => {
        const key = join(office.folder, 'keys', 'bundle.key');
        await command('sites', 'values', 'approve', await waiting(), '--key', key, '--person', 'bob');
      };

      await page.getByRole('button', { name: /^Override here: .* of plant-7$/ }).click();
      await page.getByLabel('Number of the production line', { exact: true }).fill('12');
      await submit(page, 'the host moved to line 12');
      await page.getByRole('status').filter({ hasText: 'Submitted for review' }).waitFor();
      expect(await line()).toBe(7);
      await page.goto(`${office.hubAddress}/ui/values`);
      const shown = page.getByRole('region', { name: `Proposal ${await waiting()}` });
      await shown.getByRole('row', { name: 'plant-7 lineNumber no value 12' }).waitFor();
      await approve();
      await runsLine(12);
      // The report has come home when the page has it.
      await seesChange(page, office.hubAddress, 'lineNumber 7 → 12');

      // Undo is a decision, too.
      await page.goto(`${office.hubAddress}/ui/values/${SITE}`);
      const versions = page.getByRole('region', { name: 'Versions' });
      await versions.getByRole('row', { name: /ann: the host moved to line 12/ }).waitFor();
      await versions.getByRole('button', { name: 'Go back' }).first().click();
      await page.getByRole('dialog').getByLabel('Reason').fill('it moved back');
      await page.getByRole('dialog').getByRole('button', { name: 'Go back' }).click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
      await approve();
      await runsLine(7);
      await seesChange(page, office.hubAddress, 'lineNumber 12 → 7');

      // From here on the repository decides, and takes what people at the site set.
      const settings = JSON.parse(await readFile(join(office.folder, 'hub.yaml'), 'utf8')) as object;
      const decided = { siteValues: { write: 'commit', localEdits: 'accept' } };
      await writeFile(join(office.folder, 'hub.yaml'), JSON.stringify({ ...settings, ...decided }));
      expect(await office.hub.end('SIGTERM')).toBe(0);
      await office.hub.start();
      const said = succeed(
        await runAgent('values', 'set', 'lineNumber=9', '--person', 'otto', '--reason', 'line 7 is rebuilt'),
      );
      expect(said.stdout).toContain('lineNumber  7 -> 9');
      await runsLine(9);
      const git = async (...words: readonly string[]): Promise<string> =>
        succeed(await runCommand(['git', '-C', join(office.folder, 'platform.git'), ...words])).stdout;
      await expect
        .poll(() => git('log', '-1', '--format=%an %s%n%b', 'main'), { timeout: 120_000 })
        .toMatch(/^otto.*line 7 is rebuilt/s);
      expect(await git('grep', '--extended-regexp', 'site: plant-7|lineNumber: 9', 'main')).toMatch(
        /site: plant-7[^]*lineNumber: 9/,
      );
      const origin = async (): Promise<unknown> => {
        const { values } = JSON.parse((await runAgent('values', '--json')).stdout) as {
          readonly values: readonly {
            readonly name: string;
            readonly value: unknown;
            readonly origin: string;
            readonly local: unknown;
          }[];
        };
        const { value, origin: from, local } = values.find(({ name }) => name === 'lineNumber') ?? {};
        return { value, origin: from, local };
      };
      await expect.poll(origin, { timeout: 120_000 }).toEqual({ value: 9, origin: 'layers', local: null });
      expect(await line()).toBe(9);
      expect(await command('sites', 'values', 'local', '--all')).toContain('the agent has the answer');
      await page.goto(`${office.hubAddress}/ui/values/${SITE}`);
      await page.getByText(/Inherited: 9/).waitFor();
      expect(faults).toEqual([]);
      // Nothing failed on the way: no release came before its values, and each receipt was the hub's own.
      expect(eventsAtHub(office.folder, `${SITE}/${AGENT}`).flatMap(({ code = [] }) => code)).toEqual([]);
    }, 300_000);
  },
);

const submit = async (page: Page, reason: string): Promise<void> => {
  await page.getByRole('button', { name: 'Preview', exact: true }).click();
  await page.getByLabel('Reason').fill(reason);
  await page.getByRole('button', { name: 'Submit for review' }).click();
};

const seesChange = async (page: Page, url: string, change: string): Promise<void> => {
  await page.goto(`${url}/ui/sites/${SITE}`);
  await expect
    .poll(async () => {
      await page.reload();
      return page.locator('main').textContent();
    })
    .toContain(change);
};
