import { randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { stopIfAborted } from '../host-error.ts';
import { type CommandResult, type HostTargetOptions, type Run, whyUnmanaged } from '../host-options.ts';
import { systemctl } from '../systemd/systemctl.ts';

/** Written by the shell before the program, which shows that the scope was made. */
const STARTED = 'started\n';
const SHELL = ['/bin/sh', '-c', 'echo started && exec "$@"', 'sh'];

/** A systemd that is being upgraded ends the connection. */
const TRIES = 3;
const PAUSE_MS = 1000;

/** Seconds after the limit at which systemd ends the processes that a program left running. */
const GRACE_SECONDS = 60;

/**
 * Runs a program of a package in a scope of its own. It keeps the restrictions of the agent, but is not in the control group of the agent's
 * service: systemd takes messages about a service from every process in its group (NotifyAccess=all), so that a program that runs as the
 * user of an application could turn off the watchdog or become the main process. Its memory and tasks are not the agent's either. Without
 * systemd it runs as a child of the agent.
 */
export const runApart = async (
  options: HostTargetOptions,
  argv: readonly string[],
  limits: Parameters<Run>[1],
): Promise<CommandResult> => {
  if (whyUnmanaged(options) !== undefined || !options.isRoot) return await options.run(argv, limits);
  const unit = `fleet-agent-check-${randomBytes(6).toString('hex')}.scope`;
  const scope = [
    'systemd-run',
    '--scope',
    '--quiet',
    '--collect',
    `--unit=${unit}`,
    // Without it, systemd writes the command line to the journal.
    '--description=Fleet Ferry check',
    '--property=MemoryHigh=512M',
    '--property=TasksMax=256',
    `--property=RuntimeMaxSec=${Math.ceil(limits.timeoutMs / 1000) + GRACE_SECONDS}`,
    '--',
  ];
  for (let tries = 1; ; tries += 1) {
    const ended = await options.run([...scope, ...SHELL, ...argv], limits);
    // What cleared its environment and left its parent is found only by the control group.
    if (ended.code === 124) await systemctl(options, ['kill', '--signal=KILL', '--', unit], limits.signal);
    if (ended.stdout.startsWith(STARTED)) return { ...ended, stdout: ended.stdout.slice(STARTED.length) };
    if (ended.code === 124 || tries === TRIES) return ended;
    await setTimeout(PAUSE_MS, undefined, { signal: limits.signal }).catch(() => undefined);
    stopIfAborted(limits.signal);
  }
};
