import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A network connection that can be cut. */
export type Relay = AsyncDisposable & {
  /** 'host:port' of the near end. */
  readonly near: string;
  /** Opens or cuts it. A cut ends open connections at once. */
  readonly let: (through: boolean) => void;
};

/** Passes connections on to a port of the loopback. */
export const startRelay = async (far: number): Promise<Relay> => {
  let whole = true;
  const open = new Set<Socket>();
  const server = createServer((near) => {
    if (!whole) {
      near.destroy();
      return;
    }
    const socket = connect(far, '127.0.0.1');
    const end = (): void => [near, socket].forEach((one) => one.destroy());
    for (const one of [near, socket]) {
      open.add(one);
      one.on('error', end);
      one.on('close', () => {
        open.delete(one);
        end();
      });
    }
    near.pipe(socket).pipe(near);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    near: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    let: (through) => {
      whole = through;
      if (!through) cut();
    },
    [Symbol.asyncDispose]: async () => {
      server.close();
      cut();
      await once(server, 'close');
    },
  };
};
