import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** A tab, and everything that its page did wrong: errors in scripts, dialogs, and what the page's policy had to stop. */
export type Tab = AsyncDisposable & { readonly page: Page; readonly faults: string[] };

export const startBrowser = (executablePath: string): Promise<Browser> =>
  // Without a sandbox: the tests run as root, and load nothing but the page.
  chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu'] });

export const openTab = async (browser: Browser, options: BrowserContextOptions = {}): Promise<Tab> => {
  const context = await browser.newContext({ reducedMotion: 'reduce', ...options });
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('dialog', (dialog) => {
    faults.push(`a dialog was opened: ${dialog.message()}`);
    void dialog.dismiss();
  });
  page.on('console', (message) => {
    if (/Content Security Policy|violates/i.test(message.text())) faults.push(message.text());
  });
  return { page, faults, [Symbol.asyncDispose]: () => context.close() };
};

type Axe = {
  readonly run: (options: object) => Promise<{
    readonly violations: readonly {
      readonly id: string;
      readonly impact: string | null;
      readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
    }[];
  }>;
};

/** Serious and critical findings of axe, of all rules or those named. The tab needs `bypassCSP`, because the page's policy stops scripts of tests, too. */
export const axeFindings = async (page: Page, rules?: readonly string[]): Promise<readonly string[]> => {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(await readFile(AXE, 'utf8'));
  const { violations } = await page.evaluate(
    (options) => (globalThis as unknown as { axe: Axe }).axe.run(options),
    { resultTypes: ['violations'], ...(rules && { runOnly: rules }) },
  );
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)}: ${failureSummary ?? ''}`),
    );
};

/** Whether the document is wider than the window. */
export const scrollsSideways = (page: Page): Promise<boolean> =>
  page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);

/** Names of tables without a button that saves them. */
export const tablesWithoutCsv = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll('main table:not(.u-legend)')]
      .filter((table) => table.closest('.framed')?.querySelector('.csv') === null)
      .map((table) => table.closest('section')?.getAttribute('aria-label') ?? 'a table'),
  );

/** Cells with content that have no heading beside them. Where rows are cards, the first cell heads its row. */
export const cellsWithoutHeading = (page: Page): Promise<readonly string[]> =>
  page.evaluate(() =>
    [
      ...document.querySelectorAll<HTMLElement>(
        'main .wide tbody > tr:not([aria-hidden]) > :not(:first-child)',
      ),
    ]
      .filter(
        (cell) => cell.checkVisibility() && ['none', ''].includes(getComputedStyle(cell, '::before').content),
      )
      .map((cell) => cell.outerHTML.slice(0, 120)),
  );

/** Tables whose rows need no link: a session has no view of its own, and nor has a part of a package. */
const LEAVES = ['Sessions', 'Objects', 'Directories', 'Files', 'Units'];

/** Rows of tables without a link or a button. Opens all details first, so that tables in them are drawn. */
export const rowsWithoutLink = async (page: Page): Promise<readonly string[]> => {
  await page.evaluate(() => {
    for (const one of document.querySelectorAll('main details')) one.setAttribute('open', '');
  });
  await page.locator('main .mantine-Loader-root').first().waitFor({ state: 'detached' });
  return page.evaluate(
    (leaves) =>
      [...document.querySelectorAll('main .wide tbody > tr:not([aria-hidden])')]
        .filter((row) => row.querySelector('a[href], button') === null)
        .map(
          (row) => `${row.closest('section')?.getAttribute('aria-label')}: ${row.textContent?.slice(0, 80)}`,
        )
        .filter((row) => !leaves.includes(row.split(':')[0] ?? '')),
    LEAVES,
  );
};

/** A picture of the window, with nothing focused. WebP takes a third of the bytes of PNG. */
export const takeWebp = async (page: Page): Promise<Buffer> => {
  await page.evaluate(() => {
    if (document.activeElement instanceof HTMLElement) document.activeElement.blur();
  });
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 80 });
  await session.detach();
  return Buffer.from(data, 'base64');
};

/** Times that the keyboard may go through a view. */
const ROUNDS = 4;

/** Fields, buttons and links that are shown, and that the key Tab does not reach. Of a group of radio buttons it reaches the checked one. */
export const unreachedByTab = async (page: Page): Promise<readonly string[]> => {
  const count = await page.evaluate(() => {
    const controls = [
      ...document.querySelectorAll<HTMLElement>(
        'a[href], button:not(:disabled), input:not([type=radio]), input[type=radio]:checked, select, textarea, summary',
      ),
    ].filter((element) => element.checkVisibility());
    const reached = new Set<EventTarget | null>();
    document.addEventListener('focusin', ({ target }) => reached.add(target));
    Object.assign(globalThis, { controls, reached });
    (document.activeElement as HTMLElement | null)?.blur();
    return controls.length;
  });
  // Frames that scroll take a press, too, and the browser's own window one at the end.
  const frames = await page.locator('[tabindex="0"]').count();
  // A long table draws further rows, with links of their own, while the keyboard goes through it.
  for (let round = 1; ; round += 1) {
    for (let press = 0; press <= count + frames; press += 1) await page.keyboard.press('Tab');
    const unreached = await page.evaluate(() => {
      const { controls, reached } = globalThis as unknown as {
        readonly controls: readonly HTMLElement[];
        readonly reached: ReadonlySet<EventTarget | null>;
      };
      return controls
        .filter((one) => one.isConnected && !reached.has(one))
        .map((one) => one.outerHTML.slice(0, 120));
    });
    if (unreached.length === 0 || round === ROUNDS) return unreached;
  }
};
