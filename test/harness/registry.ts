import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FleetError } from '../../bundles/errors.ts';
import { findProgram } from './find-program.ts';
import { freePort } from './free-port.ts';
import { temporaryDirectory } from './temporary-directory.ts';

export type Registry = AsyncDisposable & {
  /** '127.0.0.1:PORT', as it stands in a reference. Plain HTTP. */
  readonly host: string;
  readonly url: string;
  /** Its storage, laid out as docker-registry does; gone when it is disposed of. */
  readonly storage: string;
};

const READY_MS = 30_000;

/** Starts docker-registry (parts.dockerRegistry), empty, with deletes allowed, on a free port of the loopback. */
export const startRegistry = async (program: string): Promise<Registry> => {
  await using cleanup = new AsyncDisposableStack();
  const folder = cleanup.use(await temporaryDirectory('registry'));
  const host = `127.0.0.1:${await freePort()}`;
  const storage = join(folder.path, 'storage');
  const configuration = join(folder.path, 'config.yml');
  await mkdir(storage);
  await writeFile(configuration, formatConfiguration(host, storage));

  // Tied to this process where setpriv can: a killed run leaves no registry behind.
  const tie = findProgram('setpriv') === undefined ? [] : ['setpriv', '--pdeathsig=KILL'];
  const [first, ...words] = [...tie, program, 'serve', configuration];
  const server = spawn(first, words, { stdio: ['ignore', 'ignore', 'pipe'] });
  let log = '';
  server.stderr.on('data', (chunk: Buffer) => {
    log = (log + chunk.toString('utf8')).slice(-4096);
  });
  const ended = once(server, 'exit');
  cleanup.defer(async () => {
    server.kill('SIGKILL');
    await ended;
  });

  const limit = AbortSignal.timeout(READY_MS);
  while (!(await answers(`http://${host}/v2/`))) {
    if (server.exitCode !== null || limit.aborted)
      throw new FleetError('IO', `The registry on ${host} does not answer; it last said: ${log.trim()}`);
    await sleep(50);
  }
  const moved = cleanup.move();
  return { host, url: `http://${host}`, storage, [Symbol.asyncDispose]: () => moved.disposeAsync() };
};

const answers = async (url: string): Promise<boolean> => {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2000) })).ok;
  } catch {
    return false;
  }
};

const formatConfiguration = (host: string, storage: string): string =>
  [
    'version: 0.1',
    'log: { level: error, accesslog: { disabled: true } }',
    `storage: { filesystem: { rootdirectory: ${JSON.stringify(storage)} }, delete: { enabled: true } }`,
    `http: { addr: ${JSON.stringify(host)} }`,
    '',
  ].join('\n');
