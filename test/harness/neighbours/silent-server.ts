import { type AddressInfo, createServer, type Socket } from 'node:net';

/** A server that takes connections and never answers, as behind a firewall that drops. */
export const startSilentServer = async (): Promise<
  AsyncDisposable & {
    readonly host: string;
    readonly isLeft: () => boolean;
    /** Closes the connections that it has. */
    readonly hangUp: () => void;
  }
> => {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => {}));
    // Without reading, the end of the other side is not noticed.
    socket.resume().on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const hangUp = (): void => {
    for (const socket of sockets) socket.destroy();
  };
  return {
    host: `127.0.0.1:${(server.address() as AddressInfo).port}`,
    isLeft: () => sockets.size === 0,
    hangUp,
    [Symbol.asyncDispose]: async () => {
      hangUp();
      await new Promise((resolve) => server.close(resolve));
    },
  };
};
