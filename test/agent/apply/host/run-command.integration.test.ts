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

it('runCommand kills at its timeout children that left the process group, lost their parent, or cleared their environment', async () => {
  const [session, orphan, cleared] = [sleep(), sleep(), sleep()];
  const { code } = await sh(
    `setsid ${session} & (setsid ${orphan} &) ; env -i /usr/bin/setsid ${cleared} & exec sleep 60`,
    { timeoutMs: 1000 },
  );
  expect(code).toBe(124);
  expect([session, orphan, cleared].filter(isRunning)).toEqual([]);
});

it('runCommand kills a program that forks faster than its children are listed', async () => {
  const each = sleep();
  const { code } = await sh(`while :; do setsid ${each} & done`, { timeoutMs: 300 });
  expect(code).toBe(124);
  expect(isRunning(each)).toBe(false);
});

it('runCommand kills the children when its signal aborts', async () => {
  const session = sleep();
  const stop = new AbortController();
  const ended = sh(`setsid ${session} & exec sleep 60`, { timeoutMs: 60_000, signal: stop.signal });
  await expect.poll(() => isRunning(session)).toBe(true);
  stop.abort();
  await expect(ended).rejects.toThrow('was stopped');
  expect(isRunning(session)).toBe(false);
});

it('runCommand does not kill a background process of a program that ended in time', async () => {
  const service = sleep();
  const { code, stdout } = await sh(`setsid ${service} > /dev/null 2>&1 & echo $!`, { timeoutMs: 10_000 });
  expect(code).toBe(0);
  // setsid has its own time to start it.
  await expect.poll(() => isRunning(service)).toBe(true);
  process.kill(Number(stdout), 'SIGKILL');
});
