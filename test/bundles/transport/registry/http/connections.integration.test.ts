import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, it } from 'vitest';
import { impatientClient, startHostileServer } from '../hostile-server.ts';

const startCounting = async () => {
  const connections = new Set<Socket | null>();
  const server = await startHostileServer((_request, response) => {
    connections.add(response.socket);
    // Without a word on how long the server keeps it: ours counts.
    response.writeHead(404, { connection: 'keep-alive' }).end();
  });
  return { ...server, connections };
};

it('repeated requests reuse one connection', async () => {
  await using server = await startCounting();
  await using client = impatientClient(server.host);
  for (let polls = 0; polls < 4; polls++) {
    await client.repository('a').resolve('release');
    await client.repository('a').fetchManifest('release');
  }
  expect(server.seen).toHaveLength(8);
  // Two, where the first was still being put away when the next question came.
  expect(server.connections.size).toBeLessThanOrEqual(2);
});

it('an idle connection is closed after the idle time', async () => {
  await using server = await startCounting();
  await using client = impatientClient(server.host, { patience: { idle: 20 } });
  await client.repository('a').resolve('release');
  await expect.poll(() => [...server.connections].every((one) => one?.destroyed)).toBe(true);
  await client.repository('a').resolve('release');
  expect(server.connections.size).toBe(2);
});

it('a server that sends a body after a HEAD response affects that connection only', async () => {
  const digest = `sha256:${'a'.repeat(64)}`;
  const head = `HTTP/1.1 200 OK\r\ndocker-content-digest: ${digest}\r\ncontent-length: 4\r\n\r\n`;
  let heads = 0;
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.on('data', () => {
      heads++;
      socket.write(
        `${head}HTTP/1.1 200 OK\r\ndocker-content-digest: sha256:${'b'.repeat(64)}\r\ncontent-length: 0\r\n\r\n`,
      );
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  await using client = impatientClient(`127.0.0.1:${(server.address() as AddressInfo).port}`);
  for (let n = 0; n < 3; n++)
    expect(await client.repository('a').resolve('release')).toMatchObject({ digest });
  expect(heads).toBeGreaterThanOrEqual(3);
  server.close();
});
