import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { expect, it, vi } from 'vitest';
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

it('holds little of a file for a caller that does not read it', async () => {
  await using page = await builtPage();
  await writeFile(join(page.path, 'assets/long-b2.js'), Buffer.alloc(8 << 20, ' '));
  await using made = await testServer({ page: page.path });
  const held: Socket[] = [];
  made.server.server.on('connection', (socket: Socket) => held.push(socket));
  await made.server.listen({ port: 0, host: '127.0.0.1' });
  const { port } = made.server.server.address() as AddressInfo;
  const reader = connect(port, '127.0.0.1');
  reader.write('GET /ui/assets/long-b2.js HTTP/1.1\r\nhost: hub\r\n\r\n');
  // The kernel takes some megabytes first.
  const [first] = (await once(reader, 'data')) as [Buffer];
  reader.pause();
  expect(first.toString()).toContain(`content-length: ${8 << 20}`);
  await vi.waitUntil(() => (held[0]?.writableLength ?? 0) > 0, { timeout: 20_000 });
  expect(held[0]?.writableLength).toBeLessThan(128 << 10);
  reader.destroy();
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
