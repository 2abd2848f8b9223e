import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { testServer } from '../serve/test-server.ts';

const SCRIPT = `console.log('${'page '.repeat(100)}');\n`;

const builtPage = async () => {
  const folder = await temporaryDirectory('page');
  await mkdir(join(folder.path, 'assets'));
  await writeFile(join(folder.path, 'index.html'), '<!doctype html><title>Fleet</title>');
  await writeFile(join(folder.path, 'assets/index-a1.js'), SCRIPT);
  await writeFile(join(folder.path, 'assets/secret.key'), 'not a file of a page');
  return folder;
};

it('redirects the address of the hub to the page', async () => {
  await using made = await testServer();
  const answer = await made.get('/');
  expect([answer.status, answer.headers]).toMatchObject([302, { location: '/ui/' }]);
});

it('serves the page for every view, without a token and with a strict content security policy', async () => {
  await using page = await builtPage();
  await using made = await testServer({ page: page.path });
  for (const path of [
    '/ui',
    '/ui?site=plant-7',
    '/ui/',
    '/ui/index.html',
    '/ui/sites/plant-7?cursor=x',
    '/ui/no/such/view',
  ]) {
    const answer = await made.get(path);
    expect([answer.status, answer.text]).toEqual([200, '<!doctype html><title>Fleet</title>']);
    expect(answer.headers).toMatchObject({
      'cache-control': 'no-cache',
      'content-type': 'text/html; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'content-security-policy': expect.stringMatching(
        /^default-src 'none'; script-src 'self'; style-src 'self'; (?!.*unsafe)/,
      ),
    });
  }
});

it('serves assets with a cache lifetime of a year, compressed on request', async () => {
  await using page = await builtPage();
  await using made = await testServer({ page: page.path });
  const plain = await made.get('/ui/assets/index-a1.js');
  expect([plain.status, plain.text]).toEqual([200, SCRIPT]);
  expect(plain.headers).toMatchObject({ 'cache-control': 'public, max-age=31536000, immutable' });
  const { rawPayload, headers } = await made.server.inject({
    url: '/ui/assets/index-a1.js',
    headers: { 'accept-encoding': 'gzip, br' },
  });
  expect(headers).toMatchObject({ 'content-encoding': 'gzip', vary: 'accept-encoding' });
  expect(gunzipSync(rawPayload).toString()).toBe(SCRIPT);
});

it('serves no files except those of the page', async () => {
  await using page = await builtPage();
  await using made = await testServer({ page: page.path });
  for (const path of ['index-older.js', 'secret.key', '..%2f..%2fetc%2fpasswd']) {
    const answer = await made.get(`/ui/assets/${path}`);
    expect([answer.status, answer.text]).toEqual([404, expect.stringContaining('reload it')]);
  }
  expect((await made.get('/ui/../hub.db')).status).toBe(404);
});

it('explains how to build the page when it is missing', async () => {
  await using folder = await temporaryDirectory('no-page');
  await using made = await testServer({ page: join(folder.path, 'dist') });
  const answer = await made.get('/ui/');
  expect([answer.status, answer.text]).toEqual([503, expect.stringContaining('npm run build:page')]);
});
