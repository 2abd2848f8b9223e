import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { runCommand } from '../harness/run/run-command.ts';

const ADDRESS = '127.0.0.2';
/** Nothing listens there, as at an address of a network that the site does not have. */
const NOWHERE = '127.0.0.3';

/** Prints its port. With a backlog of 1 the kernel keeps two connections that were not accepted yet, and drops the first packet of a third. */
const SERVER = `const { createServer } = require('node:http');
const server = createServer((_, answer) => answer.end());
server.listen({ host: '${ADDRESS}', port: 0, backlog: 1 }, () => console.log(server.address().port));`;

it('a program reaches a name by its first address on a link that takes longer than 250 ms, although the second leads nowhere', async () => {
  const server = spawn(process.execPath, ['-e', SERVER], { stdio: ['ignore', 'pipe', 'inherit'] });
  const queued: ReturnType<typeof connect>[] = [];
  try {
    const [line] = (await once(server.stdout, 'data')) as [Buffer];
    const port = Number(String(line));
    server.kill('SIGSTOP');
    for (const _ of [1, 2]) {
      const socket = connect({ host: ADDRESS, port }).on('error', () => {});
      queued.push(socket);
      await once(socket, 'connect');
    }
    const reach = fileURLToPath(new URL('../fixtures/program/reach.ts', import.meta.url));
    const asked = runCommand([process.execPath, reach, 'reach', String(port), ADDRESS, NOWHERE]);
    await expect.poll(() => isConnecting(port), { timeout: 60_000, interval: 20 }).toBe(true);
    // Its client repeats the packet after a second.
    await sleep(500);
    server.kill('SIGCONT');
    expect(await asked).toEqual({ code: 0, stdout: 'answered 200\n', stderr: '' });
  } finally {
    server.kill('SIGKILL');
    for (const socket of queued) socket.destroy();
  }
});

/** True while a process waits for a connection to the port (state 02, SYN_SENT; proc_net_tcp). */
const isConnecting = async (port: number): Promise<boolean> => {
  const address = ADDRESS.split('.')
    .toReversed()
    .map((part) => hex(Number(part), 2));
  const remote = `${address.join('')}:${hex(port, 4)}`;
  const sockets = await readFile('/proc/net/tcp', 'utf8');
  return sockets.split('\n').some((entry) => entry.includes(` ${remote} 02 `));
};

const hex = (number: number, digits: number): string =>
  number.toString(16).toUpperCase().padStart(digits, '0');
