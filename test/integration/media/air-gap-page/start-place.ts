import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type Outcome, runCommand } from '../../../harness/run/run-command.ts';

/** A folder or file that lies at another path in there. */
export type Mount = { readonly from: string; readonly to: string };

/** A machine as far as paths and network go: mounts of its own, and no network if it has none. */
export type Place = AsyncDisposable & {
  /** Types a script; standard error comes in between, as on a terminal. */
  readonly type: (script: string) => Promise<Outcome>;
  /** The same as the words of a command, for what goes on while others type. */
  readonly words: (script: string) => readonly string[];
  readonly env: NodeJS.ProcessEnv;
};

export type PlaceOptions = {
  readonly home: string;
  readonly mounts: readonly Mount[];
  readonly network: boolean;
  readonly env: NodeJS.ProcessEnv;
};

/** The namespaces live as long as what waits in them; everybody else enters. Root makes them as it is, others in a user namespace. */
export const startPlace = async ({ home, mounts, network, env }: PlaceOptions): Promise<Place> => {
  const isRoot = process.getuid?.() === 0;
  const namespaces = [...(isRoot ? [] : ['-r']), '-m', ...(network ? [] : ['-n'])];
  // Without an `ip` the loopback stays down, and what needs it says so.
  const script = [
    'PATH=$PATH:/usr/sbin:/sbin',
    ...(network ? [] : ['ip link set lo up 2> /dev/null || true']),
    ...mounts.map(({ from, to }) => `mount --bind '${from}' '${to}'`),
    'echo ready',
    'exec sleep infinity',
  ].join('\n');
  const waiting = spawn('setpriv', ['--pdeathsig=KILL', 'unshare', ...namespaces, 'sh', '-euc', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(waiting, 'exit');
  const stop = async (): Promise<void> => {
    waiting.kill('SIGKILL');
    await ended;
  };
  await Promise.race([once(waiting.stdout, 'data'), ended]);
  if (waiting.exitCode !== null)
    throw new Error(`no place could be made: unshare ended with ${waiting.exitCode}`);
  const user = isRoot ? [] : ['-U', '--preserve-credentials'];
  const enter = ['nsenter', '-t', String(waiting.pid), ...user, '-m', ...(network ? [] : ['-n'])];
  const words = (typed: string): readonly string[] => [
    ...enter,
    'sh',
    '-euc',
    `exec 2>&1\ncd '${home}'\n${typed}`,
  ];
  const seen = { ...env, HOME: home };
  const type = (typed: string): Promise<Outcome> => runCommand(words(typed), { env: seen });
  return { type, words, env: seen, [Symbol.asyncDispose]: stop };
};
