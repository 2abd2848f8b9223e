import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';

const AXE = createRequire(import.meta.url).resolve('axe-core/axe.min.js');

/** A tab, and everything that its page did wrong: errors in scripts, and what the page's policy had to stop. */
export type Tab = AsyncDisposable & { readonly page: Page; readonly faults: readonly string[] };

export const startBrowser = (executablePath: string): Promise<Browser> =>
  // Without a sandbox: the tests run as root, and load nothing but the page.
  chromium.launch({ executablePath, args: ['--no-sandbox', '--disable-dev-shm-usage'] });

export const openTab = async (browser: Browser, options: BrowserContextOptions = {}): Promise<Tab> => {
  const context = await browser.newContext(options);
  context.setDefaultTimeout(20_000);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on('pageerror', (error) => faults.push(error.message));
  page.on('console', (message) => {
    if (/Content Security Policy|violates/i.test(message.text())) faults.push(message.text());
  });
  return { page, faults, [Symbol.asyncDispose]: () => context.close() };
};

type Axe = {
  readonly run: () => Promise<{
    readonly violations: readonly {
      readonly id: string;
      readonly impact: string | null;
      readonly nodes: readonly { readonly html: string; readonly failureSummary?: string }[];
    }[];
  }>;
};

/** Serious and critical findings of axe. The tab needs `bypassCSP`, because the page's policy stops scripts of tests, too. */
export const axeFindings = async (page: Page): Promise<readonly string[]> => {
  await page.evaluate(await readFile(AXE, 'utf8'));
  const { violations } = await page.evaluate(() => (globalThis as unknown as { axe: Axe }).axe.run());
  return violations
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .flatMap(({ id, nodes }) =>
      nodes.map(({ html, failureSummary }) => `${id}: ${html.slice(0, 160)}: ${failureSummary ?? ''}`),
    );
};

/** Whether the document is wider than the window. */
export const scrollsSideways = (page: Page): Promise<boolean> =>
  page.evaluate(() => document.documentElement.scrollWidth > document.documentElement.clientWidth);
