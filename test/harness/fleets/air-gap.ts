import { spawnSync } from 'node:child_process';
import { FleetError } from '../../../bundles/errors.ts';
import { type Outcome, type RunOptions, runCommand } from '../run/run-command.ts';

/** A command prefix that takes the network away, or why this machine has none. */
export type AirGap =
  | { readonly present: true; readonly how: 'unshare -n' | 'unshare -rn'; readonly prefix: readonly string[] }
  | { readonly present: false; readonly reason: string };

let known: AirGap | undefined;

/** Tries it once: root makes a network namespace as it is, others as root of a user namespace of their own. */
export const findAirGap = (): AirGap => {
  known ??= tryAirGap();
  return known;
};

/**
 * Runs a command in a network namespace that has nothing but a loopback of its own. Whatever it starts is in there
 * too, so a server and its client both work as long as they are started by the same command.
 */
export const runAirGapped = (argv: readonly string[], options?: RunOptions): Promise<Outcome> => {
  const gap = findAirGap();
  if (!gap.present) throw new FleetError('TOOL_MISSING', gap.reason);
  return runCommand([...gap.prefix, ...argv], options);
};

const tryAirGap = (): AirGap => {
  const how = process.getuid?.() === 0 ? 'unshare -n' : 'unshare -rn';
  // Without an `ip` the loopback stays down: good enough for what needs no server.
  const loopback = 'PATH=$PATH:/usr/sbin:/sbin; ip link set lo up 2> /dev/null; exec "$@"';
  const prefix = ['unshare', how === 'unshare -n' ? '-n' : '-rn', 'sh', '-c', loopback, 'air-gap'] as const;
  const [program, ...words] = prefix;
  const attempt = spawnSync(program, [...words, 'true'], { encoding: 'utf8' });
  if (attempt.status === 0) return { present: true, how, prefix };
  const said = attempt.error?.message ?? attempt.stderr.trim();
  return { present: false, reason: `No network namespace can be made here: '${how}' said '${said}'.` };
};
