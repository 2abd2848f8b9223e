import { writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { pino } from 'pino';
import { Client } from 'undici';
import { expect, test } from 'vitest';
import { verifySignature } from '#bundles/trust/keys/key';
import { listenOnSocket } from '../../../../scheduler/keys/signer/listen-on-socket.ts';
import { openRemoteKey } from '../../../../scheduler/keys/remote/remote-key.ts';
import { createSignerServer } from '../../../../scheduler/keys/signer/serve-signer.ts';
import { newWorld, sitePayload, startSigner, toSign } from './signer-world.ts';

const world = await newWorld();

/** A signer behind a socket, in this process. */
const listening = async () => {
  const it = await startSigner(world);
  const socket = join(it.folder, 's');
  const server = createSignerServer(it.signer, pino({ level: 'silent' }));
  const open = await listenOnSocket(server, socket);
  const client = new Client('http://signer', { socketPath: socket });
  return {
    ...it,
    socket,
    server,
    post: async (path: string, body: string) => {
      const { statusCode, body: answer } = await client.request({ method: 'POST', path, body });
      const { error } = (await answer.json()) as { error?: { code: string } };
      return [statusCode, error?.code];
    },
    [Symbol.asyncDispose]: async () => {
      await client.destroy();
      await open[Symbol.asyncDispose]();
      await it[Symbol.asyncDispose]();
    },
  };
};

test('a remote key signs like a local one, and passes on the refusals of the signer', async () => {
  await using it = await listening();
  const key = await openRemoteKey(it.socket, 'release');
  expect(key.public.hint).toBe(world.keys.release.public.hint);
  const bytes = toSign(sitePayload(1));
  expect(verifySignature(world.keys.release.public, bytes, await key.sign(bytes))).toBe(true);
  await expect(key.sign(toSign(sitePayload(500)))).rejects.toMatchObject({
    code: 'SIGNER_REFUSED',
    message: 'site statement 500 of plant-7 jumps: the last one was 1',
    hint: expect.stringContaining('At most 100') as string,
  });
  await expect(openRemoteKey(it.socket, 'root')).rejects.toMatchObject({ code: 'USAGE' });
});

test('refuses oversized, excessive and malformed requests, and serves the next request', async () => {
  await using it = await listening();
  const evidence = (count: number) =>
    JSON.stringify({ bytes: 'YQ==', evidence: Array.from({ length: count }, () => '') });
  expect(await it.post('/v1/sign/release', 'x'.repeat(9 << 20)).catch(() => 'cut off')).toSatisfy(
    (answer: unknown) => answer === 'cut off' || (answer as unknown[])[1] === 'TOO_LARGE',
  );
  expect(await it.post('/v1/sign/release', evidence(65))).toEqual([429, 'TOO_MANY']);
  expect(await it.post('/v1/sign/release', '{')).toEqual([403, 'BAD_JSON']);
  expect(await it.post('/v1/sign/release', '[[[[[1]]]]]')).toEqual([403, 'TOO_DEEP']);
  expect(await it.post('/v1/sign/release', '{"bytes":"YQ="}')).toEqual([403, 'SCHEMA']);
  expect(await it.post('/v1/sign/release', '{"bytes":"Y Q==","evidence":[]}')).toEqual([403, 'SCHEMA']);
  expect(await it.post('/v1/sign/audit', evidence(0))).toEqual([404, 'USAGE']);
  expect(await it.post('/v1/keys/release', '')).toEqual([404, 'USAGE']);
  expect(await it.post('/v1/sign/release', evidence(0))).toEqual([403, 'SIGNER_REFUSED']);
});

test('a response signed by another key is refused', async () => {
  await using it = await listening();
  const socket = join(it.folder, 'false');
  const server = createServer((request, response) => {
    request.resume();
    const answer =
      request.method === 'GET'
        ? { role: 'release', publicKey: world.keys.release.public.pem }
        : { signature: Buffer.from('no signature').toString('base64') };
    response.end(JSON.stringify(answer));
  });
  await using _ = await listenOnSocket(server, socket);
  const key = await openRemoteKey(socket, 'release');
  await expect(key.sign(toSign(sitePayload(1)))).rejects.toMatchObject({ code: 'BAD_SIGNATURE' });
});

test('a socket path that is too long, a file, or in use by another signer is refused', async () => {
  await using it = await listening();
  const listen = (path: string) => listenOnSocket(createServer(), path);
  await expect(listen(join(it.folder, 'x'.repeat(120)))).rejects.toMatchObject({ code: 'USAGE' });
  await expect(listen(join(it.folder, 'nowhere', 's'))).rejects.toMatchObject({ code: 'USAGE' });
  await writeFile(join(it.folder, 'file'), '');
  await expect(listen(join(it.folder, 'file'))).rejects.toMatchObject({ code: 'USAGE' });
  await expect(listen(it.socket)).rejects.toMatchObject({ code: 'BUSY' });
});

test('a stopping signer answers running requests first', async () => {
  const it = await listening();
  const key = await openRemoteKey(it.socket, 'release');
  const signing = key.sign(toSign(sitePayload(1)));
  await new Promise((resolve) => it.server.once('request', resolve));
  await it[Symbol.asyncDispose]();
  expect((await signing).byteLength).toBeGreaterThan(60);
});
