import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { networkInterfaces } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import * as fc from 'fast-check';
import { describe, expect, it, vi } from 'vitest';
import { digestOf } from '#bundles/digest';
import type { RegistryOptions } from '#bundles/transport/registry/registry';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { impatientClient, readAll, thrownBy } from './hostile-server.ts';
import { answer, drained, goodHead, type RawServer, readWhole, startRawServer } from './raw-server.ts';
import { runs } from '../../../harness/run/long.ts';

const BLOB = randomBytes(1_500_000);
const DIGEST = digestOf(BLOB);
const SMALL = Buffer.from('what a small blob holds');
const SMALL_DIGEST = digestOf(SMALL);

const whole = (from = 0): Buffer =>
  Buffer.concat([Buffer.from(goodHead(BLOB.byteLength, from)), BLOB.subarray(from)]);
const wholeSmall = answer(200, SMALL);

/** Nothing here is to time out on a busy machine, but what the test is about. */
const clientOf = (server: { readonly host: string }, options: Partial<RegistryOptions> = {}) =>
  impatientClient(server.host, { patience: { connect: 20_000, headers: 20_000, body: 20_000 }, ...options });

/** `once` would take the error before for one of the test. */
const closed = (socket: Socket | undefined): Promise<void> =>
  new Promise((resolve) => {
    if (!socket || socket.destroyed) resolve();
    else socket.once('close', () => resolve());
  });

const hasIpv6 = Object.values(networkInterfaces()).some((list) =>
  list?.some(({ address }) => address === '::1'),
);

const connectionsOf = (server: RawServer): readonly number[] =>
  server.seen.map(({ connection }) => connection);

/** For vi.waitFor: expect.poll does not know which of several tests at once it is in. */
const PATIENCE = { timeout: 60_000, interval: 20 };

describe.concurrent('a response', () => {
  it('is read for any split of its head and body into packets', async () => {
    const bytes = Buffer.concat([Buffer.from('HTTP/1.1 103 Early Hints\r\nlink: </x>\r\n\r\n'), wholeSmall]);
    let at = 0;
    await using server = await startRawServer((_request, socket) => {
      socket.write(bytes.subarray(0, at));
      setTimeout(() => socket.write(bytes.subarray(at)), 1);
    });
    await using client = clientOf(server);
    for (at = 1; at < bytes.byteLength; at++) expect(await readWhole(client, SMALL_DIGEST)).toEqual(SMALL);
    expect(client.delays).toEqual([]);
  });

  it('is read byte by byte', async () => {
    await using server = await startRawServer(async (_request, socket) => {
      for (const byte of wholeSmall) {
        socket.write(Buffer.of(byte));
        await nextTurn();
      }
    });
    await using client = clientOf(server);
    expect(await readWhole(client, SMALL_DIGEST)).toEqual(SMALL);
  });

  it('is read whole from packets of any size', async () => {
    let pieces: readonly number[] = [];
    await using server = await startRawServer(async (_request, socket) => {
      const bytes = whole();
      let at = 0;
      for (let n = 0; at < bytes.byteLength; n++) {
        const size = pieces[n % pieces.length] ?? 1;
        if (!socket.write(bytes.subarray(at, (at += size)))) await drained(socket);
        else if (size > 10_000) await nextTurn();
      }
    });
    await using client = clientOf(server);
    const sizes = fc.array(fc.integer({ min: 3000, max: 700_000 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(sizes, async (given) => {
        pieces = given;
        expect(digestOf(await readWhole(client, DIGEST))).toBe(DIGEST);
      }),
      { numRuns: runs(30) },
    );
    expect(client.delays).toEqual([]);
  });

  it('with an empty body is read as empty', async () => {
    await using server = await startRawServer((_request, socket) => {
      socket.write(answer(200));
    });
    await using client = clientOf(server);
    for (let n = 0; n < 3; n++) expect(await readWhole(client, DIGEST)).toHaveLength(0);
    expect(client.delays).toEqual([]);
  });

  it.each([
    ['Transfer-Encoding: chunked', `${SMALL.byteLength.toString(16)}\r\n${SMALL.toString()}\r\n0\r\n\r\n`],
    ['Connection: close', SMALL.toString()],
  ])('with %s and without a length is read', async (field, body) => {
    await using server = await startRawServer((_request, socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${field}\r\n\r\n${body}`);
      if (field.startsWith('Connection')) socket.end();
    });
    await using client = clientOf(server);
    expect(await readWhole(client, SMALL_DIGEST)).toEqual(SMALL);
    expect(await readWhole(client, SMALL_DIGEST)).toEqual(SMALL);
    expect(server.seen).toHaveLength(2);
    expect(client.delays).toEqual([]);
  });

  it.each([
    'HTTP/1.1 200 OK\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n12345',
    'HTTP/1.1 200 OK\r\ncontent-length: 5\r\n folded\r\n\r\n12345',
    'HTTP/1.1 101 Switching\r\nupgrade: x\r\n\r\nHTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n',
    'SSH-2.0-OpenSSH_9.9\r\n\r\n',
  ])('that is not HTTP/1.1, %j, is refused', async (text) => {
    await using server = await startRawServer((_request, socket) => {
      socket.write(text);
    });
    await using client = clientOf(server);
    expect(await thrownBy(() => readWhole(client, DIGEST))).toMatchObject({
      code: 'REGISTRY_UNREACHABLE',
      message: expect.stringMatching(/cannot be reached|cut the connection/),
    });
    expect(server.sockets).toHaveLength(5);
    await vi.waitFor(() => expect(server.sockets.every(({ destroyed }) => destroyed)).toBe(true), PATIENCE);
  });

  it("with an error list is reported in the registry's words, also when the list is long", async () => {
    const message = `no, ${'really '.repeat(20)}`;
    const errors = [{ code: 'DENIED', message }, ...Array.from({ length: 800 }, () => ({ code: 'NO' }))];
    await using server = await startRawServer((_request, socket) => {
      socket.write(answer(400, JSON.stringify({ errors })));
    });
    await using client = clientOf(server);
    const error = await thrownBy(() => readWhole(client, DIGEST));
    expect(error).toMatchObject({ code: 'REGISTRY_REFUSED' });
    expect((error as Error).message).toContain(`answered 400 (DENIED: ${message.trim()}`);
  });
});

describe.concurrent('a connection', () => {
  // Not every machine has IPv6.
  it.skipIf(!hasIpv6)('goes to an address of IPv6, too', async () => {
    const onRequest = (_request: unknown, socket: Socket): void => void socket.write(wholeSmall);
    await using server = await startRawServer(onRequest, undefined, undefined, '::1');
    await using client = clientOf(server);
    expect(await readWhole(client, SMALL_DIGEST)).toEqual(SMALL);
    expect(server.seen[0]?.head).toContain(`host: ${server.host}`);
  });

  it('is reused for one blob after another', async () => {
    await using server = await startRawServer((_request, socket) => {
      socket.write(whole());
    });
    await using client = clientOf(server);
    for (let n = 0; n < 8; n++) expect(digestOf(await readWhole(client, DIGEST))).toBe(DIGEST);
    // Two, where the first is still being put away when the next request comes.
    expect(new Set(connectionsOf(server)).size).toBeLessThanOrEqual(2);
  });

  it('is opened for each concurrent reader', async () => {
    await using server = await startRawServer((_request, socket) => {
      socket.write(whole());
    });
    await using client = clientOf(server);
    const lane = async (): Promise<void> => {
      for (let n = 0; n < 6; n++) expect(digestOf(await readWhole(client, DIGEST))).toBe(DIGEST);
    };
    await Promise.all([lane(), lane(), lane()]);
    expect(server.sockets.length).toBeLessThanOrEqual(6);
  });

  it.each([
    ['closed', (socket: Socket) => socket.end()],
    ['cut', (socket: Socket) => socket.resetAndDestroy()],
  ])('that is %s while idle does not delay the next request', async (_how, close) => {
    await using server = await startRawServer((_request, socket) => {
      socket.write(wholeSmall);
    });
    await using client = clientOf(server);
    for (let n = 1; n <= 3; n++) {
      expect(await readWhole(client, SMALL_DIGEST)).toEqual(SMALL);
      const socket = server.sockets.at(-1) as Socket;
      close(socket);
      if (n === 2) await sleep(20);
    }
    expect(client.delays).toEqual([]);
  });

  it.each([
    ['announces that it closes', answer(200, SMALL, 'Connection: close')],
    [
      'is of HTTP/1.0',
      Buffer.concat([Buffer.from(`HTTP/1.0 200 OK\r\ncontent-length: ${SMALL.byteLength}\r\n\r\n`), SMALL]),
    ],
    ['says more than it announced', Buffer.concat([wholeSmall, Buffer.from('x')])],
    ['has the next answer ready before the question', Buffer.concat([wholeSmall, answer(200, 'another')])],
  ])('that %s is not reused', async (_how, bytes) => {
    await using server = await startRawServer((_request, socket) => {
      socket.write(bytes);
    });
    await using client = clientOf(server);
    for (let n = 0; n < 3; n++) expect(await readWhole(client, SMALL_DIGEST)).toEqual(SMALL);
    expect(connectionsOf(server)).toEqual([1, 2, 3]);
    expect(client.delays).toEqual([]);
  });

  it('with unsolicited data while its reader was busy is not reused', async () => {
    await using server = await startRawServer((_request, socket) => {
      socket.write(Buffer.concat([whole(), answer(200, 'another')]));
    });
    await using client = clientOf(server);
    for (let n = 0; n < 2; n++) {
      const content = await client.repository('a').blobs.open(DIGEST);
      await sleep(30);
      expect(digestOf(await readAll(content))).toBe(DIGEST);
      await vi.waitFor(() => expect(server.sockets.at(-1)?.destroyed).toBe(true), PATIENCE);
    }
    expect(connectionsOf(server)).toEqual([1, 2]);
  });

  it('a connection with unsolicited data is not used again', async () => {
    await using server = await startRawServer((_request, socket) => {
      socket.write(wholeSmall, () => setTimeout(() => socket.write(answer(200, 'another')), 5));
    });
    await using client = clientOf(server);
    for (let n = 0; n < 3; n++) {
      expect(await readWhole(client, SMALL_DIGEST)).toEqual(SMALL);
      await vi.waitFor(() => expect(server.sockets.at(-1)?.destroyed).toBe(true), PATIENCE);
    }
    expect(connectionsOf(server)).toEqual([1, 2, 3]);
  });

  it('that stays idle is closed after the idle time', async () => {
    await using server = await startRawServer((_request, socket) => {
      socket.write(wholeSmall);
    });
    await using client = clientOf(server, { patience: { idle: 20 } });
    await readWhole(client, SMALL_DIGEST);
    await closed(server.sockets[0]);
    expect(await readWhole(client, SMALL_DIGEST)).toEqual(SMALL);
    expect(client.delays).toEqual([]);
  });

  it('is closed with its registry, and its reader gets the error at once', async () => {
    await using server = await startRawServer((_request, socket) => {
      socket.write(goodHead(BLOB.byteLength));
    });
    const client = clientOf(server);
    const content = await client.repository('a').blobs.open(DIGEST);
    const reading = thrownBy(() => readAll(content));
    const asking = thrownBy(() => readWhole(client, DIGEST));
    await client[Symbol.asyncDispose]();
    expect(await reading).toMatchObject({ code: 'REGISTRY_UNREACHABLE' });
    expect(await asking).toMatchObject({ code: 'REGISTRY_UNREACHABLE' });
    expect(await thrownBy(() => readWhole(client, DIGEST))).toMatchObject({ code: 'REGISTRY_UNREACHABLE' });
    expect(client.delays).toEqual([]);
    expect(server.seen.length).toBeLessThanOrEqual(2);
  });
});

describe.concurrent('a blob whose connection breaks', () => {
  it('at any byte resumes by a range from that byte', async () => {
    let places: readonly number[] = [];
    let left: number[] = [];
    await using server = await startRawServer(({ from }, socket) => {
      const place = left.shift();
      if (place === undefined) socket.write(whole(from));
      else socket.write(whole(from).subarray(0, place), () => socket.destroy());
    });
    await using client = clientOf(server, { tries: 20 });
    const head = goodHead(BLOB.byteLength).length;
    const place = fc.oneof(
      fc.integer({ min: 0, max: head + 10 }),
      fc.integer({ min: head, max: BLOB.byteLength }),
      fc.constantFrom(head + (512 << 10), head + (512 << 10) - 1, head + (512 << 10) + 1),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(place, { maxLength: 6 }), async (given) => {
        places = given;
        left = [...places];
        expect(digestOf(await readWhole(client, DIGEST))).toBe(DIGEST);
      }),
      { numRuns: runs(30) },
    );
  });

  it('repeatedly resumes as long as each try makes progress', async () => {
    await using server = await startRawServer(({ from }, socket) => {
      const head = goodHead(BLOB.byteLength, from).length;
      const part = whole(from).subarray(0, head + 100_000);
      socket.write(part, () => socket.end());
    });
    await using client = clientOf(server);
    expect(digestOf(await readWhole(client, DIGEST))).toBe(DIGEST);
    expect(server.seen.map(({ from }) => from)).toEqual(Array.from({ length: 15 }, (_, n) => n * 100_000));
  });
});

describe.concurrent('a response that stalls', () => {
  const HUNG = { patience: { connect: 20_000, headers: 1000, body: 1000 }, tries: 2 };

  it('fails after the header timeout when nothing arrives', async () => {
    await using server = await startRawServer(() => {});
    await using client = clientOf(server, HUNG);
    expect(await thrownBy(() => readWhole(client, DIGEST))).toMatchObject({
      message: expect.stringContaining('accepted the request and did not answer'),
    });
    expect(server.seen).toHaveLength(2);
  });

  it.each([['byte by byte', (n: number) => `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(10_000)}`[n % 10_000] ?? '']])(
    'fails when its head never ends, sent %s',
    async (_how, next) => {
      await using server = await startRawServer((_request, socket) => {
        let n = 0;
        const more = setInterval(() => socket.write(next(n++)), 10);
        socket.on('close', () => clearInterval(more));
      });
      await using client = clientOf(server, HUNG);
      expect(await thrownBy(() => readWhole(client, DIGEST))).toMatchObject({
        message: expect.stringContaining('accepted the request and did not answer'),
      });
    },
  );

  it.each([
    ['header', `HTTP/1.1 200 OK\r\nx: ${'y'.repeat(100_000)}`],
    ['row of headers', `HTTP/1.1 200 OK\r\n${'x: y\r\n'.repeat(20_000)}`],
  ])('is refused for an endless %s', async (_what, text) => {
    let sent = 0;
    await using server = await startRawServer(async (_request, socket) => {
      while (!socket.destroyed && sent < 100e6) {
        sent += text.length;
        if (!socket.write(text)) await drained(socket);
      }
    });
    await using client = clientOf(server, { tries: 2 });
    expect(await thrownBy(() => readWhole(client, DIGEST))).toMatchObject({
      message: expect.stringContaining('Headers Overflow'),
    });
    expect(sent).toBeLessThan(20e6);
  });

  it('in the body resumes with the bytes received', async () => {
    await using server = await startRawServer(({ from, nth }, socket) => {
      socket.write(nth === 1 ? whole().subarray(0, 700_000) : whole(from));
    });
    await using client = clientOf(server, HUNG);
    expect(digestOf(await readWhole(client, DIGEST))).toBe(DIGEST);
    expect(server.seen[1]?.from).toBe(700_000 - goodHead(BLOB.byteLength).length);
  });

  it('after a pause of the reader resumes, too', async () => {
    await using server = await startRawServer(({ from, nth }, socket) => {
      socket.write(nth === 1 ? whole().subarray(0, 1_200_000) : whole(from));
    });
    await using client = clientOf(server, HUNG);
    const content = (await client.repository('a').blobs.open(DIGEST))[Symbol.asyncIterator]();
    const pieces: Buffer[] = [];
    for (let piece = await content.next(); !piece.done; piece = await content.next()) {
      pieces.push(Buffer.from(piece.value));
      if (pieces.length === 1) await sleep(2500);
    }
    expect(digestOf(Buffer.concat(pieces))).toBe(DIGEST);
    expect(server.seen).toHaveLength(2);
  });
});

describe.concurrent('a reader of a blob', () => {
  it('that is slow applies back-pressure, and is not mistaken for a stall', async () => {
    const total = 64 << 20;
    let written = 0;
    await using server = await startRawServer(async (_request, socket) => {
      const piece = Buffer.alloc(1 << 20);
      socket.write(goodHead(total));
      while (!socket.destroyed && written < total) {
        written += piece.byteLength;
        if (!socket.write(piece)) await drained(socket);
      }
    });
    await using client = clientOf(server, { patience: { connect: 20_000, headers: 20_000, body: 1500 } });
    const content = (await client.repository('a').blobs.open(DIGEST))[Symbol.asyncIterator]();
    let size = (await content.next()).value?.byteLength ?? 0;
    await sleep(3000);
    // Buffers of the two sockets. More than was written cannot be held in memory.
    expect(written).toBeLessThan(32 << 20);
    for (let piece = await content.next(); !piece.done; piece = await content.next()) {
      size += piece.value.byteLength;
      await sleep(2);
    }
    expect(size).toBe(total);
    expect(server.seen).toHaveLength(1);
  });

  it('that ends early closes the connection', async () => {
    await using server = await startRawServer((_request, socket) => {
      socket.write(goodHead(1e9));
      socket.write(BLOB);
    });
    await using client = clientOf(server);
    const content = (await client.repository('a').blobs.open(DIGEST))[Symbol.asyncIterator]();
    await content.next();
    const gone = closed(server.sockets[0]);
    await content.return?.();
    await gone;
    expect(client.delays).toEqual([]);
  });

  const abortedWhile = async (
    behave: (socket: Socket) => void,
    whenReady: (server: RawServer, pieces: () => number) => Promise<void>,
    reading = 0,
  ): Promise<void> => {
    await using server = await startRawServer((_request, socket) => behave(socket));
    await using client = clientOf(server);
    const stop = new AbortController();
    let pieces = 0;
    const result = thrownBy(async () => {
      for await (const _piece of await client.repository('a').blobs.open(DIGEST, stop.signal)) {
        pieces++;
        if (reading > 0) await sleep(reading, undefined, { signal: stop.signal });
      }
    });
    await whenReady(server, () => pieces);
    const reason = new Error('enough');
    stop.abort(reason);
    const error = await result;
    expect(reading > 0 ? ((error as Error).cause ?? error) : error).toBe(reason);
    expect(client.delays).toEqual([]);
    await Promise.all(server.sockets.map(closed));
  };

  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await sleep(5);
  };

  it('may abort before the connection exists', () =>
    abortedWhile(
      () => {},
      async () => {},
    ));

  it('may abort before the response', () =>
    abortedWhile(
      () => {},
      (server) => until(() => server.seen.length > 0),
    ));

  it('may abort in the middle of the head', () =>
    abortedWhile(
      (socket) => socket.write('HTTP/1.1 200 OK\r\ncontent-'),
      async (server) => {
        await until(() => server.seen.length > 0);
        await sleep(20);
      },
    ));

  it('may abort in the middle of the body', () =>
    abortedWhile(
      (socket) => socket.write(whole().subarray(0, 1_000_000)),
      (_server, pieces) => until(() => pieces() > 0),
    ));

  it('may abort during back-pressure', () =>
    abortedWhile(
      (socket) => socket.write(whole()),
      async (_server, pieces) => {
        await until(() => pieces() > 0);
        await sleep(20);
      },
      60_000,
    ));

  it('leaves no listener on a signal that outlives it', async () => {
    let answers = 0;
    await using server = await startRawServer((_request, socket) => {
      if (++answers % 2 === 0) socket.write(wholeSmall);
      else socket.destroy();
    });
    await using client = clientOf(server);
    const { signal } = new AbortController();
    let listeners = 0;
    const add = signal.addEventListener.bind(signal);
    const remove = signal.removeEventListener.bind(signal);
    signal.addEventListener = (...args: Parameters<typeof add>) => {
      listeners++;
      add(...args);
    };
    signal.removeEventListener = (...args: Parameters<typeof remove>) => {
      listeners--;
      remove(...args);
    };
    for (let n = 0; n < 5; n++) expect(await readWhole(client, SMALL_DIGEST, signal)).toEqual(SMALL);
    expect(listeners).toBe(0);
  });
});

describe.concurrent('credentials', () => {
  it.each([302, 307])(
    'are not sent along a redirect (%d) to another origin, for any body',
    async (status) => {
      await using folder = await temporaryDirectory();
      for (const body of ['', 'moved', 'x'.repeat(50_000), 'x'.repeat(500_000)]) {
        await using storage = await startRawServer((_request, socket) => {
          socket.write(whole());
        });
        await using server = await startRawServer(({ authorization }, socket) => {
          if (authorization === undefined)
            socket.write(answer(401, '{"errors":[]}', 'www-authenticate: Basic realm="x"'));
          else socket.write(answer(status, body, `location: ${storage.url}/there?a=b%20c`));
        });
        const authFile = join(folder.path, 'auth.json');
        const auth = Buffer.from('somebody:secret').toString('base64');
        await writeFile(authFile, JSON.stringify({ auths: { [server.host]: { auth } } }));
        await using client = clientOf(server, { authFile });
        expect(digestOf(await readWhole(client, DIGEST))).toBe(DIGEST);
        expect(storage.seen[0]?.path).toBe('/there?a=b%20c');
        expect(storage.seen[0]?.head).not.toMatch(/authorization/i);
        expect(storage.seen[0]?.head).toContain(`host: ${storage.host}`);
        expect(server.seen.at(-1)?.authorization).toMatch(/^Basic /);
      }
    },
  );
});
