import { setTimeout } from 'node:timers/promises';
import { COMMAND_ENV, type Run } from '../host-options.ts';
import { inOwnGroup } from '../processes.ts';

const LIMIT_MS = 20_000;
const ASK_MS = 20;
const MAX_ASKED = 250;

/**
 * Moves processes that the programs of a step left running, such as a service that a maintainer script started, into a scope of their own: systemd
 * kills all processes in the unit of the step when the unit ends. The resource limits of the step do not hold in the scope.
 * @returns the name of the scope, or the reason why systemd did not create it; undefined if no process is left
 */
export const leaveRunning = async (
  run: Run,
  id: string,
  signal: AbortSignal,
): Promise<{ readonly scope: string } | { readonly failed: string } | undefined> => {
  const pids = inOwnGroup();
  if (pids.length === 0) return undefined;
  // An id comes back when its step is performed again.
  const scope = `fleet-agent-left-${id}-${process.pid}.scope`;
  const { code, stderr } = await run(
    [
      'busctl',
      'call',
      'org.freedesktop.systemd1',
      '/org/freedesktop/systemd1',
      'org.freedesktop.systemd1.Manager',
      'StartTransientUnit',
      'ssa(sv)a(sa(sv))',
      scope,
      'fail',
      '2',
      'Description',
      's',
      `Left running by fleet-agent step ${id}`,
      'PIDs',
      'au',
      `${pids.length}`,
      ...pids.map(String),
      '0',
    ],
    { timeoutMs: LIMIT_MS, signal, cwd: '/', env: COMMAND_ENV },
  );
  if (code !== 0) return { failed: stderr.trim().split('\n')[0] ?? `busctl ended with ${code}` };
  const isMoved = () => {
    const left = inOwnGroup();
    return !pids.some((pid) => left.includes(pid));
  };
  for (let asked = 0; asked < MAX_ASKED && !isMoved(); asked += 1) await setTimeout(ASK_MS);
  return isMoved() ? { scope } : { failed: `${scope} did not take them` };
};
