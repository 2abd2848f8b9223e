import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** whole: all passes. down: connections are ended as soon as they come. silent: they stand, and nothing passes. */
export type LineState = 'whole' | 'down' | 'silent';

/** A line to a server, whatever is spoken on it. */
export type FaultyLine = AsyncDisposable & {
  /** 'address:port' */
  readonly host: string;
  /** Connections that stand are ended by it. */
  readonly set: (state: LineState) => void;
  /** 'host:port' that the next connections lead to. */
  readonly leadTo: (target: string) => void;
  /**
   * A connection over which so many bytes were sent ends when the answer comes: the server has done what it was asked,
   * and nobody hears of it. undefined: never.
   */
  loseAnswersAfter: number | undefined;
  /** How many were lost. */
  lost: number;
};

export const startFaultyLine = async (to: string, address = '127.0.0.1'): Promise<FaultyLine> => {
  let target = to;
  let state: LineState = 'whole';
  const open = new Set<Socket>();
  const endAll = (): void => open.forEach((socket) => socket.destroy());
  const server = createServer((client) => {
    track(open, client);
    if (state === 'down') client.destroy();
    if (state !== 'whole') return;
    const [host, port] = target.split(':');
    const upstream = connect(Number(port), host);
    track(open, upstream);
    client.on('close', () => upstream.destroy());
    upstream.on('close', () => client.destroy());
    let sent = 0;
    client.on('data', (chunk: Buffer) => {
      sent += chunk.byteLength;
      upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      if (sent <= (line.loseAnswersAfter ?? Number.POSITIVE_INFINITY)) {
        client.write(chunk);
        return;
      }
      line.lost += 1;
      client.destroy();
    });
  });
  server.listen(0, address);
  await once(server, 'listening');
  const line: FaultyLine = {
    host: `${address}:${(server.address() as AddressInfo).port}`,
    set: (next) => {
      state = next;
      endAll();
    },
    leadTo: (next) => {
      target = next;
      endAll();
    },
    loseAnswersAfter: undefined,
    lost: 0,
    [Symbol.asyncDispose]: async () => {
      server.close();
      endAll();
      await once(server, 'close');
    },
  };
  return line;
};

const track = (open: Set<Socket>, socket: Socket): void => {
  open.add(socket);
  socket.on('error', () => {});
  socket.on('close', () => open.delete(socket));
};
