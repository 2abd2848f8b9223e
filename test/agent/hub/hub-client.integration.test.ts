import { createServer } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { ROOTS_PATH } from '#bundles/formats/events/hub-api';
import { openHub } from '../../../agent/hub/hub-client.ts';
import { startSilentServer } from '../../harness/neighbours/silent-server.ts';
import { createOnlineWorld, PATIENT } from '../online-world.ts';

const signal = new AbortController().signal;

/** A proxy that knows one host and where it really is. */
const startProxy = async (port: number) => {
  const asked: string[] = [];
  const sockets = new Set<Socket>();
  const proxy = createServer().on('connect', ({ url = '' }, socket: Socket) => {
    asked.push(url);
    const far = connect(port, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      far.pipe(socket).pipe(far);
    });
    for (const one of [socket, far]) {
      sockets.add(one);
      one.on('error', () => {});
    }
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`,
    asked,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => proxy.close(resolve));
    },
  };
};

describe('a hub', () => {
  it('that takes the connection and is silent is left at once when the command is stopped', async () => {
    await using server = await startSilentServer();
    const stop = new AbortController();
    const begun = performance.now();
    {
      await using hub = openHub(`https://${server.host}`, { authorities: [] }, { env: {} });
      const asked = hub.get(ROOTS_PATH, 1 << 20, stop.signal);
      setTimeout(() => stop.abort(), 200);
      await expect(asked).rejects.toMatchObject({ code: 'ABORTED' });
    }
    await expect.poll(server.isLeft, { timeout: 5000 }).toBe(true);
    // A connection that does not come about is given up after 10 seconds.
    expect(performance.now() - begun).toBeLessThan(5000);
  });

  it('without TLS is HUB_UNREACHABLE with this reason in one line', async () => {
    const server = createServer((_request, response) => response.end());
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    try {
      await using hub = openHub(`https://127.0.0.1:${port}`, { authorities: [] }, PATIENT);
      await expect(hub.get(ROOTS_PATH, 1 << 20, signal)).rejects.toMatchObject({
        code: 'HUB_UNREACHABLE',
        message: `https://127.0.0.1:${port} does not answer: the server there does not use TLS, so it is not a hub`,
      });
    } finally {
      server.close();
    }
  });

  it('is reached through the proxy of the environment, and must still match its certificate', async () => {
    await using it = await createOnlineWorld({ host: 'hub.example' });
    const { port } = new URL(it.hub.url);
    await using proxy = await startProxy(Number(port));
    const options = { ...PATIENT, env: { HTTPS_PROXY: proxy.url } };
    const authorities = [it.fleet.authority.certificate];
    await using hub = openHub(`https://hub.example:${port}`, { authorities }, options);
    expect(await hub.get(ROOTS_PATH, 1 << 20, signal)).toMatchObject({ roots: [expect.any(String)] });
    expect(proxy.asked).toEqual([`hub.example:${port}`]);
    await using wrong = openHub(`https://other.example:${port}`, { authorities }, options);
    await expect(wrong.get(ROOTS_PATH, 1 << 20, signal)).rejects.toMatchObject({
      code: 'CERTIFICATE_INVALID',
    });
  });

  it('may be given by name or by address if its certificate has it', async () => {
    for (const [named, other] of [
      ['localhost', '127.0.0.1'],
      ['127.0.0.1', 'localhost'],
    ] as const) {
      await using it = await createOnlineWorld({ host: named });
      const { port } = new URL(it.hub.url);
      const authorities = [it.fleet.authority.certificate];
      await using hub = openHub(`https://${named}:${port}`, { authorities }, PATIENT);
      expect(await hub.get(ROOTS_PATH, 1 << 20, signal)).toMatchObject({ roots: [expect.any(String)] });
      await using wrong = openHub(`https://${other}:${port}`, { authorities }, PATIENT);
      await expect(wrong.get(ROOTS_PATH, 1 << 20, signal)).rejects.toMatchObject({
        code: 'CERTIFICATE_INVALID',
      });
    }
  });

  it('has different errors when nothing listens, the answer is too large, or the caller aborts', async () => {
    await using it = await createOnlineWorld();
    const authorities = [it.fleet.authority.certificate];
    await using hub = openHub(it.hub.url, { authorities }, PATIENT);
    await expect(hub.get(ROOTS_PATH, 10, signal)).rejects.toMatchObject({ code: 'HUB_REFUSED' });
    await using nowhere = openHub('https://localhost:1', { authorities }, PATIENT);
    await expect(nowhere.get(ROOTS_PATH, 10, signal)).rejects.toMatchObject({
      code: 'HUB_UNREACHABLE',
      message: 'https://localhost:1 does not answer: nothing listens there',
    });
    const controller = new AbortController();
    it.hub.mischief = () => {
      controller.abort();
      return true;
    };
    await expect(hub.get(ROOTS_PATH, 10, controller.signal)).rejects.toMatchObject({ code: 'ABORTED' });
  });

  it('has more time for a long request than for a short one', async () => {
    await using it = await createOnlineWorld();
    const authorities = [it.fleet.authority.certificate];
    const options = { ...PATIENT, attempts: 1, patience: 300 };
    await using hub = openHub(it.hub.url, { authorities }, options);
    it.hub.mischief = (_, response) => {
      setTimeout(() => response.end('{}'), 2500);
      return true;
    };
    const [long, short] = await Promise.allSettled(
      ['x'.repeat(20_000), ''].map((events) => hub.post('/v1/reports', { events }, 10, signal)),
    );
    expect(long).toEqual({ status: 'fulfilled', value: {} });
    expect(short).toMatchObject({ reason: { code: 'HUB_UNREACHABLE' } });
  });

  it('H16: that is busy is asked again after its Retry-After, up to a limit', async () => {
    await using it = await createOnlineWorld();
    const waits: number[] = [];
    const sleep = async (ms: number): Promise<void> => void waits.push(ms);
    await using hub = openHub(
      it.hub.url,
      { authorities: [it.fleet.authority.certificate] },
      { ...PATIENT, sleep },
    );
    const date = 'Wed, 01 Jan 2003 00:00:00 GMT';
    const answers = [
      { 'retry-after': '7' },
      { 'retry-after': '86400' },
      // As a proxy between writes it.
      { 'retry-after': 'Wed, 01 Jan 2003 00:00:11 GMT', date },
      {},
    ];
    it.hub.mischief = (_, response) => {
      response.writeHead(503, answers[waits.length]).end();
      return true;
    };
    for (const _ of [1, 2])
      await expect(hub.get(ROOTS_PATH, 10, signal)).rejects.toMatchObject({ code: 'HUB_UNREACHABLE' });
    expect(waits).toEqual([7000, 30_000, 11_000, expect.any(Number)]);
  });

  it('is asked again when a proxy answers for it with a page that is longer than any answer of a hub', async () => {
    await using it = await createOnlineWorld();
    const waits: number[] = [];
    const sleep = async (ms: number): Promise<void> => void waits.push(ms);
    const { certificate } = it.fleet.authority;
    await using hub = openHub(it.hub.url, { authorities: [certificate] }, { ...PATIENT, sleep });
    const page = '<p>Maintenance</p>'.repeat(20_000);
    it.hub.mischief = (_, response) => {
      response.writeHead(503, { 'content-type': 'text/html', 'retry-after': '7' }).end(page);
      return true;
    };
    await expect(hub.get(ROOTS_PATH, 10, signal)).rejects.toMatchObject({
      code: 'HUB_UNREACHABLE',
      message: expect.stringMatching(/failed at the hub: status 503$/),
    });
    expect(waits).toEqual([7000, 7000]);
  });
});
