import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { builtPage } from '../../harness/run/built-programs.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { valuesServer } from '../../scheduler/hub/http/values/values-server.ts';
import { axeFindings, scrollsSideways, startBrowser } from './browser.ts';
import { signIn } from './sign-in.ts';

const settings = (lines: readonly string[]) => ({
  kind: 'host' as const,
  packages: { app: { 'package.json': '{}', 'platform-config.yaml': `${lines.join('\n')}\n` } },
});

describeWith(['chromium'], 'the comparison of two environments on the page', ({ chromium }) => {
  test('names each value that differs with both sides, one that is missing at a side, and no secret', async () => {
    await using folder = await temporaryDirectory('page-compare');
    const page = await builtPage(join(folder.path, 'page'));
    await using browser = await startBrowser(chromium);
    await using made = await valuesServer(undefined, { page });
    const clusterType = 'factory-host';
    await made.hub.layoutWriter.release({
      channel: { environment: 'qa', clusterType },
      version: 1,
      bundles: [settings(['region: north', 'port: 80', 'dbPassword: hush', 'retries: 3'])],
    });
    await made.hub.layoutWriter.release({
      channel: { environment: 'prod', clusterType },
      version: 2,
      bundles: [settings(['region: north', 'port: 8080', 'dbPassword: hush-hush', 'motto: <b>fast</b>'])],
    });
    await made.server.listen({ host: '127.0.0.1', port: 0 });
    const url = `http://127.0.0.1:${(made.server.server.address() as AddressInfo).port}`;
    const { token } = await made.reader();
    await using tab = await signIn(browser, { url, token, path: '/compare?left=qa&right=prod' });
    const row = tab.page.getByRole('row', { name: /^factory-host\/app/ });
    await row.waitFor();
    const column = row.getByRole('cell').last();
    await expect
      .poll(() => column.locator('p').allTextContents())
      .toEqual([
        'dbPassword: withheld in qa, withheld in prod',
        'motto: nothing in qa, "<b>fast</b>" in prod',
        'port: 80 in qa, 8080 in prod',
        'retries: 3 in qa, nothing in prod',
      ]);
    expect(await tab.page.content()).not.toContain('hush');
    expect(await axeFindings(tab.page)).toEqual([]);
    await tab.page.setViewportSize({ width: 320, height: 640 });
    expect(await scrollsSideways(tab.page)).toBe(false);
    expect(tab.faults).toEqual([]);
  });
});
