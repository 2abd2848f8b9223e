import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { FleetError } from '../../../bundles/errors.ts';
import { findProgram } from './find-program.ts';

const READY_MS = 120_000;

/** Runs a server until it is disposed of; returns when something listens on 'host:port'. */
export const serveProgram = async (argv: readonly string[], host: string): Promise<AsyncDisposable> => {
  // Tied to this process where setpriv can: a killed run leaves no server behind.
  const tie = findProgram('setpriv') === undefined ? [] : ['setpriv', '--pdeathsig=KILL'];
  const [first = '', ...words] = [...tie, ...argv];
  // A registry written in Go has a heap of some MiB, of which it would collect the garbage all the time.
  const env = { GOGC: '400', ...process.env };
  const server = spawn(first, words, { stdio: ['ignore', 'ignore', 'pipe'], env });
  let log = '';
  server.stderr.on('data', (chunk: Buffer) => {
    log = (log + chunk.toString('utf8')).slice(-4096);
  });
  const ended = once(server, 'exit');
  const stop = async (): Promise<void> => {
    server.kill('SIGKILL');
    await ended;
  };
  const limit = AbortSignal.timeout(READY_MS);
  while (!(await listens(host))) {
    if (server.exitCode !== null || limit.aborted) {
      await stop();
      throw new FleetError('IO', `${argv[0]} on ${host} does not answer; it last said: ${log.trim()}`);
    }
    await sleep(25);
  }
  return { [Symbol.asyncDispose]: stop };
};

const listens = (host: string): Promise<boolean> => {
  const { hostname, port } = new URL(`http://${host}`);
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const socket = connect(Number(port), hostname);
  socket.once('connect', () => resolve(true));
  socket.once('error', () => resolve(false));
  return promise.finally(() => socket.destroy());
};
