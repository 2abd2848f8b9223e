import type { HostTargetOptions } from '../host-options.ts';
import { forgetStarted, readStopped, stoppedFor, writeStopped } from './started.ts';
import { mustSystemctl, systemctl } from './systemctl.ts';
import { isRunning, readStates, type UnitState } from './unit-state.ts';

/**
 * Starts a socket, or restarts one that listens. systemd refuses to start a socket while its service runs (systemd.socket(5)), so the
 * socket, the other sockets of its services and then the services stop first, and start again in that order. What was stopped is
 * recorded until it has started, also after a power cut. With Accept=yes each connection has an instance, which is left alone.
 * @throws FleetError UNIT_FAILED, IO
 */
export const startSocket = async (
  options: HostTargetOptions,
  name: string,
  state: UnitState,
  signal: AbortSignal,
): Promise<void> => {
  const services = state.accepts ? [] : await running(options, state.triggers, signal);
  const sockets = services.flatMap(([, { triggeredBy }]) => triggeredBy.filter(isSocket));
  const others = await running(
    options,
    [...new Set(sockets)].filter((one) => one !== name),
    signal,
  );
  const group = [...others, ...services].map(([unit]) => unit);
  const stopped = [...new Set([...(await readStopped(options, name)), ...group])];
  if (stopped.length === 0)
    return void (await mustSystemctl(options, [isRunning(state) ? 'restart' : 'start', '--', name], signal));
  await writeStopped(options, name, stopped);
  // A socket that still listened would start its service again.
  await mustSystemctl(options, ['stop', '--', ...stopped.filter(isSocket), name], signal);
  await mustSystemctl(options, ['stop', '--', ...stopped], signal);
  await systemctl(options, ['reset-failed', '--', ...stopped, name], signal);
  try {
    await mustSystemctl(options, ['start', '--', name], signal);
  } finally {
    await mustSystemctl(options, ['start', '--', ...stopped.toSorted(socketsFirst)], signal);
    await forgetStarted(options, stoppedFor(name));
  }
};

/** Those of the sockets that a service gets its connections from and that do not listen: it would start without them. */
export const socketsOf = async (
  options: HostTargetOptions,
  service: string,
  sockets: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> =>
  [...(await readStates(options, sockets, signal))]
    .filter(([, state]) => !state.accepts && state.triggers.includes(service) && !isRunning(state))
    .map(([name]) => name);

const isSocket = (name: string): boolean => name.endsWith('.socket');

const socketsFirst = (a: string, b: string): number => Number(isSocket(b)) - Number(isSocket(a));

const running = async (
  options: HostTargetOptions,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly (readonly [string, UnitState])[]> =>
  [...(await readStates(options, names, signal))].filter(([, state]) => isRunning(state));
