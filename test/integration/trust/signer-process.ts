import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, readdir, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { programFile } from '../../harness/run/program-file.ts';

const PROGRAM = programFile('scheduler');

/** `fleet-scheduler signer` as it is started in earnest. */
export type SignerProcess = AsyncDisposable & {
  readonly child: ChildProcess;
  readonly log: readonly Readonly<Record<string, unknown>>[];
  /** Waits for its end. @returns exit code and signal */
  readonly ended: Promise<readonly [number | null, NodeJS.Signals | null]>;
};

export type SignerPlaces = { readonly keys: string; readonly state: string; readonly socket: string };

const ROLES = ['bundle', 'release', 'receipt', 'lease', 'authority'];
/** Every role that a signer can hold, as words of its command line. */
export const ALL_ROLES = ROLES.flatMap((role) => ['--role', role]);

/** Takes the keys out of a directory and puts them where only a signer looks; what stays says who signs. */
export const giveToSigner = async (keys: string, folder: string) => {
  const places = { keys: join(folder, 'held'), state: join(folder, 'state'), socket: join(folder, 's') };
  await mkdir(places.keys, { mode: 0o700 });
  await copyFile(join(keys, '1.root.json'), join(places.keys, '1.root.json'));
  const names = (await readdir(keys)).filter((name) => name.endsWith('.key'));
  for (const name of names) await rename(join(keys, name), join(places.keys, name));
  await writeFile(
    join(keys, 'keys.yaml'),
    ROLES.map((role) => `${role}: {signer: ${places.socket}}\n`).join(''),
    {
      mode: 0o644,
    },
  );
  return { ...places, names };
};

/** Returns when it listens. */
export const startSignerProcess = async (
  { keys, state, socket }: SignerPlaces,
  words: readonly string[],
): Promise<SignerProcess> => {
  const argv = ['signer', '--keys', keys, '--state', state, '--listen', socket, ...words];
  const child = spawn(process.execPath, [PROGRAM, ...argv], { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit') as Promise<[number | null, NodeJS.Signals | null]>;
  const log: Record<string, unknown>[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<undefined>();
  createInterface({ input: child.stdout }).on('line', (text) => {
    const line = JSON.parse(text) as Record<string, unknown>;
    log.push(line);
    if (line['msg'] === 'listening') resolve(undefined);
  });
  void ended.then(() => reject(new Error('the signer ended')));
  promise.catch(() => {});
  await promise;
  return {
    child,
    log,
    ended,
    [Symbol.asyncDispose]: async () => {
      if (child.exitCode !== null || child.signalCode !== null) return;
      child.kill('SIGKILL');
      await ended;
    },
  };
};
