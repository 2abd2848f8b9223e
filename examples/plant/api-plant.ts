import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, openSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { findProgram } from '../../test/harness/run/find-program.ts';
import { freePort } from '../../test/harness/neighbours/free-port.ts';
import { type OwnClusterOptions, startOwnCluster } from '../../test/harness/kubernetes/own-cluster.ts';
import { PROGRAMS } from '../built-programs.ts';
import { runCommand } from '../story.ts';
import type { Plant } from './plant.ts';
import { type Relay, startRelay } from './relay.ts';

/**
 * For a machine without root or cgroups: the API server, controllers and scheduler, with a node that
 * only simulates pods. The agent is a process of this machine, and its lines to the office are relays.
 */
export const startApiPlant = async (
  name: string,
  parts: Pick<OwnClusterOptions, 'kube' | 'kwok'>,
  {
    folder,
    stick,
    signal,
  }: { readonly folder: string; readonly stick: string; readonly signal: AbortSignal },
): Promise<Plant> => {
  await using cleanup = new AsyncDisposableStack();
  await mkdir(folder, { recursive: true });
  const relays: Relay[] = [];
  const cluster = cleanup.use(await startOwnCluster({ ...parts, signal }));
  const config = ['--config', join(folder, 'agent.yaml')];
  const agent = [process.execPath, PROGRAMS['fleet-agent']];
  const logFile = join(folder, 'agent.log');
  const moved = cleanup.move();
  const letThrough = (through: boolean): void => {
    for (const relay of relays) relay.let(through);
  };
  const startAgent: Plant['startAgent'] = async () => {
    const log = openSync(logFile, 'w');
    const tie = findProgram('setpriv') === undefined ? [] : ['setpriv', '--pdeathsig=KILL'];
    const [program = '', ...words] = [...tie, ...agent, 'run', ...config];
    const child = spawn(program, words, { stdio: ['ignore', log, log] });
    closeSync(log);
    moved.defer(async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGTERM');
      await once(child, 'exit');
    });
    return { code: 0, stdout: '', stderr: '' };
  };
  return {
    pods: 'fake',
    prompt: `${name} $`,
    stick,
    settings: [
      'targets: [kubernetes]',
      `kubeconfig: ${cluster.kubeconfig}`,
      `state: ${join(folder, 'state')}`,
    ],
    line: async () => {
      const port = await freePort();
      const relay = moved.use(await startRelay(port));
      relays.push(relay);
      return { listen: `127.0.0.1:${port}`, known: relay.near };
    },
    run: ([program = '', ...words]) => {
      if (program === 'fleet-agent') return runCommand([...agent, ...words, ...config]);
      if (program === 'kubectl') return cluster.kubectl(words);
      return runCommand([program, ...words]);
    },
    write: async (file, text) => {
      const path = join(folder, file);
      await writeFile(path, text, { mode: 0o600 });
      return path;
    },
    startCommand: 'fleet-agent run &',
    startAgent,
    log: () => readFile(logFile, 'utf8'),
    powerCut: undefined,
    cutOff: async () => letThrough(false),
    reconnect: async () => letThrough(true),
    [Symbol.asyncDispose]: () => moved.disposeAsync(),
  };
};
