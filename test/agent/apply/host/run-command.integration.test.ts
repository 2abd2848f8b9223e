import { readdirSync, readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { runCommand } from '../../../../agent/apply/host/run-command.ts';

const never = new AbortController().signal;
let number = 98_000 + (process.pid % 1000) * 10;

/** A sleep that no other test has, in seconds. */
const sleep = (): string => `sleep ${(number += 1)}`;

const isRunning = (command: string): boolean =>
  readdirSync('/proc').some((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0').join(' ').trim() === command;
    } catch {
      return false;
    }
  });

const sh = (script: string, more: { readonly timeoutMs: number; readonly signal?: AbortSignal }) =>
  runCommand(['/bin/sh', '-c', script], { signal: never, ...more });

it('kills at the limit what left its process group, lost its parent, or cleared its environment', async () => {
  const [session, orphan, cleared] = [sleep(), sleep(), sleep()];
  const { code } = await sh(
    `setsid ${session} & (setsid ${orphan} &) ; env -i /usr/bin/setsid ${cleared} & exec sleep 60`,
    { timeoutMs: 1000 },
  );
  expect(code).toBe(124);
  expect([session, orphan, cleared].filter(isRunning)).toEqual([]);
});

it('kills a program that starts others faster than they are counted', async () => {
  const each = sleep();
  const { code } = await sh(`while :; do setsid ${each} & done`, { timeoutMs: 300 });
  expect(code).toBe(124);
  expect(isRunning(each)).toBe(false);
});

it('kills the same when it is stopped', async () => {
  const session = sleep();
  const stop = new AbortController();
  const ended = sh(`setsid ${session} & exec sleep 60`, { timeoutMs: 60_000, signal: stop.signal });
  await expect.poll(() => isRunning(session)).toBe(true);
  stop.abort();
  await expect(ended).rejects.toThrow('was stopped');
  expect(isRunning(session)).toBe(false);
});

it('leaves alone what a program that ended within its limit left running', async () => {
  const service = sleep();
  const { code, stdout } = await sh(`setsid ${service} > /dev/null 2>&1 & echo $!`, { timeoutMs: 10_000 });
  expect(code).toBe(0);
  // setsid has its own time to start it.
  await expect.poll(() => isRunning(service)).toBe(true);
  process.kill(Number(stdout), 'SIGKILL');
});
