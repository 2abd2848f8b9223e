import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:net';

/**
 * A TCP port of 127.0.0.1 that nothing listens on: below the range from which the kernel gives ports to sockets that ask for any, so
 * that nobody takes it before a program listens there, nor while that is stopped and started again.
 */
export const freePort = async (): Promise<number> => {
  for (;;) {
    const port = randomInt(15_000, 32_000);
    const server = createServer();
    const outcome = once(server, 'listening').then(
      () => true,
      () => false,
    );
    server.listen(port, '127.0.0.1');
    if (!(await outcome)) continue;
    server.close();
    await once(server, 'close');
    return port;
  }
};
