import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Demo, startDemo } from '../../../examples/demo/start-demo.ts';
import { builtPage } from '../../harness/run/built-programs.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { startBrowser, type Tab } from './browser.ts';
import { signIn } from './sign-in.ts';

const NOW = new Date('2026-11-21T08:00:00Z');
const MOST_CLICKS = 2;

type Question = {
  readonly asks: string;
  /** Links to click, from the overview on. None: the overview answers. */
  readonly clicks: readonly (string | RegExp)[];
  /** Text that answers. */
  readonly answer: RegExp;
};

const side = (name: string): RegExp => new RegExp(`^${name}$`);

/** The questions of the table in docs/page.md, in its order. */
const QUESTIONS: readonly Question[] = [
  { asks: 'Is everything fine?', clicks: [], answer: /comply/ },
  {
    asks: 'What fails, at which sites, and why?',
    clicks: [side('Alarms')],
    answer: /PACKAGE_FAILED CHECK_FAILED.* at \d+ sites/,
  },
  {
    asks: 'Who owns it, and does somebody work on it?',
    clicks: [side('Alarms')],
    answer: /owner [a-z]+.*Acknowledge/s,
  },
  { asks: 'What resolved itself, and when?', clicks: [side('Alarms'), side('Over')], answer: /last 90 days/ },
  {
    asks: 'Why does the gate wait, and who holds it back?',
    clicks: [side('Pipeline')],
    answer: /soak.*media expected by.*press-1/s,
  },
  { asks: 'When can it open?', clicks: [side('Pipeline')], answer: /expected by 2026-11-28/ },
  { asks: 'How far is the rollout?', clicks: [side('Pipeline')], answer: /pilot.*done.*half.*running/s },
  {
    asks: 'Who promoted what runs in prod, and why?',
    clicks: [side('Pipeline')],
    answer: /by mara .*shops get new scales/s,
  },
  {
    asks: 'Who approved and decided, in order?',
    clicks: [side('Audit log')],
    answer: /lars.*promotion .*mara/s,
  },
  {
    asks: 'What is different between qa and prod?',
    clicks: [side('Pipeline'), side('Compare qa and prod')],
    answer: /Those that differ are listed.*oven-control/s,
  },
  { asks: 'Which versions run where?', clicks: [side('Workloads')], answer: /oven-control/ },
  {
    asks: 'Which media are on their way, and which are overdue?',
    clicks: [side('Media')],
    answer: /overdue/,
  },
];

describeWith(['chromium'], 'the questions of an operator', ({ chromium }) => {
  const world = new AsyncDisposableStack();
  let demo: Demo;
  let browser: Browser;
  let tab: Tab;
  const measured: string[] = [];

  beforeAll(async () => {
    const folder = world.use(await temporaryDirectory('questions'));
    const page = await builtPage(join(folder.path, 'page'));
    demo = world.use(await startDemo({ sites: 200, folder: folder.path, page, port: 0, now: NOW }));
    browser = await startBrowser(chromium);
    tab = await signIn(
      browser,
      { url: demo.url, token: demo.reader, path: '/' },
      { viewport: { width: 1440, height: 900 } },
    );
  });
  afterAll(async () => {
    // FLEET_QUESTIONS=<file> writes the rows of the table.
    const file = process.env['FLEET_QUESTIONS'];
    if (file !== undefined) await writeFile(file, `${measured.join('\n')}\n`);
    await browser?.close();
    await world.disposeAsync();
  });

  const click = async (page: Page, name: string | RegExp): Promise<void> => {
    const link = page.getByRole('link', { name });
    const target = (await link.count()) > 0 ? link.first() : page.getByText(name).first();
    await target.click();
  };

  test.each(QUESTIONS)(
    'are answered within two clicks from the overview: $asks',
    async ({ asks, clicks, answer }) => {
      const { page } = tab;
      await page.getByRole('link', { name: 'Overview', exact: true }).first().click();
      await page.getByRole('heading', { level: 1, name: /^Fleet / }).waitFor();
      expect(clicks.length).toBeLessThanOrEqual(MOST_CLICKS);
      const before = performance.now();
      for (const name of clicks) await click(page, name);
      await expect
        .poll(() => page.getByRole('main').textContent(), { interval: 20, timeout: 15_000 })
        .toMatch(answer);
      const seconds = (performance.now() - before) / 1000;
      measured.push(`| ${asks} | ${clicks.length} | ${seconds.toFixed(1)} s |`);
    },
  );
});
