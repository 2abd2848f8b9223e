import type { Browser } from 'playwright-core';
import { openTab, type Tab } from './browser.ts';

export type Visit = { readonly url: string; readonly token: string; readonly path: string };

/** A tab at a view of the page, signed in. */
export const signIn = async (
  browser: Browser,
  { url, token, path }: Visit,
  options: Parameters<typeof openTab>[1] = {},
): Promise<Tab> => {
  const tab = await openTab(browser, options);
  await tab.page.goto(`${url}/ui${path}`);
  await tab.page.getByLabel('Token', { exact: true }).fill(token);
  await tab.page.getByRole('button', { name: 'Sign in' }).click();
  await tab.page.getByRole('button', { name: 'Sign out' }).waitFor();
  return tab;
};
