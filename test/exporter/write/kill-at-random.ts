import { spawn } from 'node:child_process';
import { once } from 'node:events';
import type { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { programFile } from '../../harness/run/program-file.ts';

const PROGRAM = programFile('exporter');
const TELL = new URL('tell-first-change.ts', import.meta.url).href;

/** How a run of fleet-export ended. */
export type Run = {
  readonly killed: boolean;
  readonly code: number | null;
  /** From its first change to its end. */
  readonly ms: number;
  readonly said: string;
};

export type RunSettings = {
  readonly words: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** SIGKILL so long after its first change; undefined: it may end. */
  readonly killAfterMs?: number;
  /** Resolves at the first change where that is none of a file: a request to a registry. */
  readonly begins?: Promise<unknown>;
};

/** Runs fleet-export as its user does, and kills it from outside, whatever it is doing then. */
export const runToKill = async ({ words, env, killAfterMs, begins }: RunSettings): Promise<Run> => {
  const argv = ['--import', TELL, PROGRAM, ...words];
  const child = spawn(process.execPath, argv, { env, stdio: ['ignore', 'pipe', 'pipe', 'pipe'] });
  let said = '';
  for (const stream of [child.stdout, child.stderr])
    stream?.on('data', (chunk: Buffer) => {
      said += chunk.toString();
    });
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  const told = begins ?? once(child.stdio[3] as Readable, 'data');
  await Promise.race([told, ended]);
  const began = performance.now();
  if (killAfterMs !== undefined) {
    await Promise.race([sleep(killAfterMs), ended]);
    child.kill('SIGKILL');
  }
  const [code, signal] = await ended;
  return { killed: signal === 'SIGKILL', code, ms: performance.now() - began, said };
};
