import { createConnection, createServer, type Server } from 'node:net';

/** A server that connects each of its clients with a socket file, or a port of the loopback. */
export const passOn = (to: string | number): Server =>
  createServer((here) => {
    const there = typeof to === 'number' ? createConnection(to, '127.0.0.1') : createConnection(to);
    here.pipe(there).pipe(here);
    for (const end of [here, there])
      end.on('error', () => {
        here.destroy();
        there.destroy();
      });
  });
