import { type ChildProcess, type ChildProcessWithoutNullStreams, spawn, spawnSync } from 'node:child_process';
import { randomInt } from 'node:crypto';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { FleetError, toFleetError } from '../../../bundles/errors.ts';
import { asRoot } from './as-root.ts';
import { claimHostFolder, releaseHostFolder } from './host-folders.ts';
import { openHostShell, SHELL_ARGV } from './host-shell.ts';
import { cacheDirectory } from '../parts/cache-folder.ts';
import { type Outcome, runCommand, runOrFail } from '../run/run-command.ts';

/** A folder or file of the machine that the host sees at `to`. */
export type Bind = { readonly from: string; readonly to: string; readonly readOnly?: boolean };

export type FactoryHostOptions = {
  /** The base: parts.factoryBase. */
  readonly base: string;
  readonly binds?: readonly Bind[];
  /** Folders of the host that lie on the machine's own file system, as overlayfs does not stack: container stores. */
  readonly disks?: readonly string[];
  /** 'none' is the air gap: its loopback alone. 'machine' adds a cable to this machine and nothing behind it. */
  readonly network?: 'none' | 'machine';
  /** Numbers of the machine's block devices that the host may open: '7:3'. Others stay closed. */
  readonly blockDevices?: readonly string[];
  /** The host may use loop devices, to mount a file. It makes their nodes itself. */
  readonly loops?: boolean;
  /** The Node that the host has as /usr/local/bin/node; by default the one that runs this. `false`: it has none. */
  readonly node?: string | false;
  readonly signal?: AbortSignal;
};

export type ExecOptions = { readonly input?: string | Uint8Array; readonly signal?: AbortSignal };

/** The network between this machine and a host. It stays as it is, whole or cut, while the host is down. */
export type Cable = {
  /** Where the host reaches the machine: a server for it listens here. */
  readonly machineAddress: string;
  /** Where the machine reaches the host. */
  readonly hostAddress: string;
  /** Nothing passes any more. Connections are not closed: both ends notice by waiting. */
  readonly cutOff: () => Promise<void>;
  readonly reconnect: () => Promise<void>;
};

export type FactoryHost = AsyncDisposable & {
  readonly name: string;
  /** The whole file system of the host while it runs, for root to look into. Another path after each start. */
  readonly rootDir: string;
  /** What the host wrote over its base, running or not. A change from outside is for when it is down. */
  readonly diskDir: string;
  /** With `network: 'machine'`. */
  readonly cable?: Cable;
  /** Runs a command inside as root, in a unit of its own. Its exit code and output come back; 125: not running. */
  readonly exec: (argv: readonly string[], options?: ExecOptions) => Promise<Outcome>;
  /** Starts a command as exec does, whose streams are those of the returned process. It ends when its input ends, if it reads it. */
  readonly open: (argv: readonly string[]) => ChildProcessWithoutNullStreams;
  /** As exec, beside the system: systemd starts no unit for it. */
  readonly look: (argv: readonly string[], options?: ExecOptions) => Promise<Outcome>;
  /** Runs a shell script by look: what it printed, trimmed. @throws Error with its output if it fails */
  readonly sh: (text: string) => Promise<string>;
  /**
   * The power is cut: SIGKILL to PID 1, and with it to everything inside. The disk stays, memory (/run, /tmp) is lost.
   * The kernel lives on, so what was written but not synced is kept: torn writes are not part of it.
   */
  readonly crash: () => Promise<void>;
  /** Boots again after crash or stop: 'running', or 'degraded' if a unit failed. */
  readonly start: () => Promise<'running' | 'degraded'>;
  /** Waits until the host goes down from within, and boots it again, as a machine does that reboots. */
  readonly rebooted: (timeoutMs: number) => Promise<'running' | 'degraded'>;
  /** A clean shutdown: every unit is stopped. The disk stays. */
  readonly stop: () => Promise<void>;
  /** Down, at once, and its disk deleted. */
  readonly remove: () => Promise<void>;
};

const script = join(import.meta.dirname, 'factory-host.sh');
const privileged = (...words: readonly string[]): readonly string[] => asRoot(['sh', script, ...words]);
/** A transient unit: in the host's own groups and journal, with its exit code and our three streams. */
const IN_A_UNIT =
  'systemd-run --quiet --pipe --wait --collect --service-type=exec --property=WorkingDirectory=/root --setenv=HOME --setenv=LANG --setenv=NODE_COMPILE_CACHE --setenv=PATH --'.split(
    ' ',
  );
/** SIGRTMIN+4 asks systemd for poweroff.target (systemd(1), 'Signals'); glibc's SIGRTMIN is 34. */
const POWER_OFF = '38';
const BOOT_MS = 120_000;

/**
 * Boots a Debian host with systemd as PID 1 in namespaces of its own, with no network but its loopback,
 * or a cable to this machine. Hosts die with this process (where sudo stands between, with the next run); what a killed run left behind is
 * removed first.
 */
export const startFactoryHost = async (name: string, options: FactoryHostOptions): Promise<FactoryHost> => {
  if (!/^[a-z][a-z0-9-]{0,40}$/.test(name))
    throw new FleetError('NAME_INVALID', `'${name}' cannot be the name of a host.`);
  const state = await claimHostFolder(cacheDirectory(process.env), name, sweep);
  const node =
    options.node === false
      ? []
      : [{ from: options.node ?? process.execPath, to: '/usr/local/bin/node', readOnly: true }];
  const disks = (options.disks ?? []).map((to) => ({ from: join(state, 'disks', to), to }));
  for (const { from } of disks) await mkdir(from, { recursive: true });
  // What Node compiled of our programs: factory-host.sh names it to whatever it runs.
  const compiled = {
    from: join(cacheDirectory(process.env), 'compiled-on-hosts'),
    to: '/var/cache/compiled',
  };
  await mkdir(compiled.from, { recursive: true });
  const binds = [...node, compiled, ...disks, ...(options.binds ?? [])];
  await writeFile(join(state, 'binds'), binds.map(formatBind).join(''));
  const devices = [
    ...(options.blockDevices ?? []).map((number) => `b ${number} rwm\n`),
    ...(options.loops === true ? ['b 7:* rwm\n', 'c 10:237 rwm\n'] : []),
  ];
  await writeFile(join(state, 'devices'), devices.join(''));
  const network = options.network === 'machine' ? await planCable(state) : undefined;

  let system: ChildProcess | undefined;
  const opened = new Set<ChildProcess>();

  const start = async (): Promise<'running' | 'degraded'> => {
    if (system !== undefined && !hasEnded(system))
      throw new FleetError('BUSY', `Host ${name} is running already.`);
    await down('9');
    system = boot(state, options.base, name);
    const died = new AbortController();
    system.once('exit', () => died.abort());
    const limits = [died.signal, AbortSignal.timeout(BOOT_MS), ...(options.signal ? [options.signal] : [])];
    try {
      const signal = AbortSignal.any(limits);
      if (network !== undefined) await network.plugIn(signal);
      const awaited = await runOrFail(privileged('await', state), { signal });
      return awaited.stdout.trim() === 'degraded' ? 'degraded' : 'running';
    } catch (error) {
      await down('9');
      const log = await readFile(join(state, 'boot.log'), 'utf8');
      const why = log.trim().split('\n').slice(-5).join('\n') || toFleetError(error).message;
      throw new FleetError('IO', `Host ${name} did not boot: ${why}`, { cause: error });
    }
  };

  /** Waits for the end of PID 1, which comes when all in its namespace are reaped. nsenter stops with its child, which a shutdown stops first, and reaps no more. */
  const left = async (running: ChildProcess, ask: () => Promise<void>): Promise<void> => {
    const end = once(running, 'exit');
    const leave = () => {
      for (const child of opened) child.kill('SIGKILL');
    };
    leave();
    const leaving = setInterval(leave, 50);
    await ask();
    await end;
    clearInterval(leaving);
  };

  /** False from the start of a shutdown on, which also stops what was started from outside. */
  const isUp = async (): Promise<boolean> => {
    if (!system || hasEnded(system)) return false;
    const { code, stdout } = await runCommand(privileged('look', state, 'systemctl', 'is-system-running'));
    return code !== 125 && !['stopping', ''].includes(stdout.trim());
  };

  const rebooted = async (timeoutMs: number): Promise<'running' | 'degraded'> => {
    const limit = AbortSignal.timeout(timeoutMs);
    while (await isUp()) {
      if (limit.aborted) throw new FleetError('IO', `Host ${name} did not go down within ${timeoutMs} ms.`);
      await sleep(200);
    }
    if (system && !hasEnded(system)) await left(system, async () => {});
    return await start();
  };

  const down = async (signal: string): Promise<void> => {
    const running = system;
    if (running === undefined) return;
    if (!hasEnded(running)) {
      await left(running, async () => {
        const sent = await runCommand(privileged('signal', state, signal));
        // It has no PID 1 yet, or no longer: unshare is all that there is.
        if (sent.code !== 0) running.kill('SIGKILL');
      });
    }
    system = undefined;
    await runOrFail(privileged('clear', state));
  };

  const remove = async (): Promise<void> => {
    await down('9');
    await runOrFail(privileged('sweep', state));
    releaseHostFolder(state);
  };

  const open = (argv: readonly string[]): ChildProcessWithoutNullStreams => {
    const [program = '', ...words] = privileged('look', state, ...argv);
    const child = spawn(program, words);
    opened.add(child);
    // Root's process cannot be killed by another user.
    child.on('error', () => {});
    child.once('close', () => opened.delete(child));
    return child;
  };
  const shell = existsSync(join(options.base, SHELL_ARGV[0])) ? openHostShell(open) : undefined;
  const look: FactoryHost['look'] = (argv, { input, signal } = {}) =>
    shell && !signal
      ? shell(argv, input)
      : runCommand(privileged('look', state, ...argv), {
          ...(input !== undefined && { input }),
          ...(signal && { signal }),
        });

  const host: FactoryHost = {
    name,
    get rootDir() {
      const [pid] = readFileSync(join(state, 'pid1'), 'utf8').split(' ');
      return `/proc/${pid}/root`;
    },
    diskDir: join(state, 'disk'),
    ...(network && { cable: network.cable }),
    exec: (argv, execOptions) => look([...IN_A_UNIT, ...argv], execOptions),
    open: (argv) => open([...IN_A_UNIT, ...argv]),
    look,
    sh: async (text) => {
      const { code, stdout, stderr } = await look(['/bin/sh', '-c', text]);
      if (code !== 0) throw new Error(`'${text}' ended with ${code}: ${stdout}${stderr}`);
      return stdout.trim();
    },
    crash: () => down('9'),
    start,
    rebooted,
    stop: () => down(POWER_OFF),
    remove,
    [Symbol.asyncDispose]: remove,
  };
  try {
    await start();
  } catch (error) {
    await remove();
    throw error;
  }
  return host;
};

type PlannedCable = { readonly cable: Cable; readonly plugIn: (signal: AbortSignal) => Promise<void> };

/** Both ends vanish with the host's network namespace, so it is plugged in at each start. */
const planCable = async (state: string): Promise<PlannedCable> => {
  // An interface's name has at most 15 characters; the end of the folder's is random.
  const link = `fleet-${state.slice(-8)}`;
  const subnet = await freeSubnet();
  let isWhole = true;
  const set = async (whole: boolean): Promise<void> => {
    isWhole = whole;
    await runOrFail(privileged('cable', state, link, whole ? 'up' : 'down'));
  };
  return {
    cable: {
      machineAddress: `${subnet}.1`,
      hostAddress: `${subnet}.2`,
      cutOff: () => set(false),
      reconnect: () => set(true),
    },
    plugIn: async (signal) => {
      await runOrFail(privileged('plug', state, link, subnet, isWhole ? 'up' : 'down'), { signal });
    },
  };
};

/** The first three bytes of a network of 254 addresses that this machine has no part in. */
const freeSubnet = async (): Promise<string> => {
  for (;;) {
    const subnet = `10.203.${randomInt(1, 255)}`;
    const { stdout } = await runCommand(['ip', '-oneline', 'address', 'show', 'to', `${subnet}.0/24`]);
    if (stdout === '') return subnet;
  }
};

/**
 * `setpriv --pdeathsig` ties the host to this process, whichever way that ends: unshare dies with it, and
 * `--kill-child` takes the host's PID 1, and so everything in its namespaces, along.
 */
const boot = (state: string, base: string, name: string): ChildProcess => {
  const log = openSync(join(state, 'boot.log'), 'w');
  const namespaces = ['--pid', '--mount', '--uts', '--ipc', '--net'];
  const [program = '', ...words] = asRoot([
    'setpriv',
    '--pdeathsig=KILL',
    'unshare',
    '--fork',
    '--kill-child=SIGKILL',
    ...namespaces,
    'sh',
    script,
    'boot',
    state,
    base,
    name,
    `fleet-ferry-${basename(state)}`,
  ]);
  const child = spawn(program, words, { stdio: ['ignore', log, log], detached: true });
  closeSync(log);
  child.on('error', () => {});
  return child;
};

const hasEnded = (child: ChildProcess): boolean => child.exitCode !== null || child.signalCode !== null;

const formatBind = ({ from, to, readOnly }: Bind): string => {
  if (/[\t\n]/.test(from + to) || !to.startsWith('/'))
    throw new FleetError('FIELD_INVALID', `'${from}' cannot be bound at '${to}'.`);
  return `${readOnly === true ? 'ro' : 'rw'}\t${from}\t${to}\n`;
};

/** Synchronous, as it also runs while this process exits. */
const sweep = (state: string): void => {
  const [program = '', ...words] = privileged('sweep', state);
  spawnSync(program, words, { stdio: 'ignore' });
};
