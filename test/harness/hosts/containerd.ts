import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { delimiter, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FleetError } from '../../../bundles/errors.ts';
import { findProgram } from '../run/find-program.ts';
import { runOrFail } from '../run/run-command.ts';
import { temporaryDirectory } from '../run/temporary-directory.ts';

export type Containerd = AsyncDisposable & {
  readonly socket: string;
  /** Its blobs and snapshots lie below; gone when it is disposed of. */
  readonly root: string;
  /** An environment whose PATH has its `ctr`. */
  readonly env: NodeJS.ProcessEnv;
  /** `ctr` in the namespace of Kubernetes; its standard output. */
  readonly ctr: (...args: readonly string[]) => Promise<string>;
};

const READY_MS = 30_000;

/**
 * Starts containerd (parts.containerd) as root on a socket of its own, empty, with the CRI plugin that a kubelet would speak
 * to; no pod can start on it.
 */
export const startContainerd = async (program: string): Promise<Containerd> => {
  await using cleanup = new AsyncDisposableStack();
  const folder = cleanup.use(await temporaryDirectory('containerd'));
  const [root, socket] = [join(folder.path, 'root'), join(folder.path, 'c.sock')];
  const configuration = join(folder.path, 'config.toml');
  await mkdir(root);
  await writeFile(configuration, formatConfiguration(folder.path));
  const env = { ...process.env, PATH: [dirname(program), process.env['PATH'] ?? ''].join(delimiter) };
  const ctr: Containerd['ctr'] = async (...args) =>
    (await runOrFail(['ctr', '--address', socket, '--namespace', 'k8s.io', ...args], { env })).stdout;

  // Tied to this process where setpriv can: a killed run leaves no containerd behind.
  const tie = findProgram('setpriv') === undefined ? [] : ['setpriv', '--pdeathsig=KILL'];
  const [first, ...words] = [...tie, program, '--config', configuration];
  const server = spawn(first, words, { env, stdio: ['ignore', 'ignore', 'pipe'] });
  let said = '';
  server.stderr.on('data', (chunk: Buffer) => {
    said = (said + chunk.toString('utf8')).slice(-4096);
  });
  const ended = once(server, 'exit');
  cleanup.defer(async () => {
    server.kill('SIGTERM');
    const timer = setTimeout(() => server.kill('SIGKILL'), 5000);
    await ended;
    clearTimeout(timer);
  });
  const limit = AbortSignal.timeout(READY_MS);
  while (!(await answers(ctr))) {
    if (server.exitCode !== null || limit.aborted)
      throw new FleetError('IO', `containerd does not answer; it last said: ${said.trim()}`);
    await sleep(50);
  }
  const moved = cleanup.move();
  return { socket, root, env, ctr, [Symbol.asyncDispose]: () => moved.disposeAsync() };
};

const answers = async (ctr: Containerd['ctr']): Promise<boolean> => {
  try {
    await ctr('--connect-timeout', '1s', 'images', 'ls', '-q');
    return true;
  } catch {
    return false;
  }
};

const formatConfiguration = (folder: string): string =>
  [
    'version = 2',
    `root = ${JSON.stringify(join(folder, 'root'))}`,
    `state = ${JSON.stringify(join(folder, 'state'))}`,
    '[grpc]',
    `address = ${JSON.stringify(join(folder, 'c.sock'))}`,
    '[ttrpc]',
    `address = ${JSON.stringify(join(folder, 't.sock'))}`,
    '[plugins."io.containerd.grpc.v1.cri"]',
    'restrict_oom_score_adj = true',
    '[plugins."io.containerd.internal.v1.opt"]',
    `path = ${JSON.stringify(join(folder, 'opt'))}`,
    '',
  ].join('\n');
