import { constants, statSync } from 'node:fs';
import { access, stat } from 'node:fs/promises';
import { trustedTime } from '#bundles/trust/accept/trusted-time';
import { type FleetError, formatSentences, toFleetError } from '#bundles/errors';
import { databaseFiles, isExposed } from '#cli/keep-private';
import { formatTime } from '#bundles/time';
import type { Agent } from '../store/agent.ts';
import { runCommand } from '../apply/host/run-command.ts';
import type { Examined, Target } from '../model/target.ts';
import type { Config } from '../config/config.ts';
import { ageFile } from '../hub/age-identity.ts';
import { keyFile, loadKey } from '../hub/agent-key.ts';
import { examineIdentity } from './examine-identity.ts';
import { examineLooks } from './examine-looks.ts';
import { examineFolders, nearest } from './examine-folders.ts';
import { readStaleness } from '../acquire/staleness/read-staleness.ts';
import { readCondition } from '../store/conditions.ts';
import { stateFile } from '../store/state.ts';
import { readRoot, readTrustRow } from '../store/trust.ts';
import { readUpgrade } from '../store/upgrade-trial.ts';

export type Finding = Examined;

/** Checks that are possible before enrolment. */
type Machine = Pick<Agent, 'edge' | 'freeBytes' | 'signal' | 'images'> & {
  readonly config: Config;
  readonly targets: readonly Pick<Target, 'examine'>[];
};

type EnrolledMachine = Machine & Pick<Agent, 'state' | 'identity'>;

/** Free bytes for a small bundle and SQLite; with less, the next import may fail. */
const LITTLE_SPACE = 256 << 20;
const SOON_MS = 60 * 86_400_000;

/** Runs all checks of `doctor` and returns their findings. Changes nothing. */
export const examine = async (machine: EnrolledMachine): Promise<readonly Finding[]> => [
  clock(machine, readTrustRow(machine.state).timeFloor),
  await disk(machine, machine.state.directory),
  await permissions(machine),
  ...(await lostKey(machine)),
  ...(await examineFolders(machine)),
  await systemd(machine),
  ...examineLooks(machine, machine.config),
  root(machine),
  freshness(machine),
  await examineIdentity(machine),
  ...(await examineUpgrade(machine.state.directory, machine.signal)),
  store(machine),
  ...(await examineTargets(machine)),
];

/**
 * Runs the checks that do not need the state, for a machine whose state cannot be opened.
 * @param why NOT_ENROLLED; PERMISSION if the state belongs to another user; AGENT_TOO_OLD or STORE_CORRUPT
 */
export const examineMachine = async (machine: Machine, why: FleetError): Promise<readonly Finding[]> => [
  {
    name: why.code === 'NOT_ENROLLED' || why.code === 'PERMISSION' ? 'enrolment' : 'store',
    verdict: why.code === 'NOT_ENROLLED' ? 'warning' : 'bad',
    message: `${why.message}. ${why.hint ?? ''}`.trim(),
  },
  ...(await examineUpgrade(machine.config.state, machine.signal)),
  clock(machine, undefined),
  await disk(machine, nearest(machine.config.state)),
  await writable([nearest(machine.config.state), ...rootOf(machine)]),
  await systemd(machine),
  ...(await examineTargets(machine)),
];

/** The root folder for files of a host; empty for an agent without a host target. */
const rootOf = ({ config }: Machine): readonly string[] =>
  config.targets.includes('host') ? [config.root] : [];

const writable = async (folders: readonly string[]): Promise<Finding> => {
  try {
    for (const folder of folders) await access(folder, constants.W_OK);
    const all = [...new Set(folders)];
    return { name: 'permissions', verdict: 'good', message: `${all.join(' and ')} can be written` };
  } catch (error) {
    return { name: 'permissions', verdict: 'bad', message: toFleetError(error).message };
  }
};

const clock = ({ edge }: Machine, timeFloor: Date | undefined): Finding => {
  const now = edge.now();
  if (timeFloor && timeFloor > now) {
    return {
      name: 'clock',
      verdict: 'bad',
      message: `${formatTime(now)} is before ${formatTime(timeFloor)}, which signatures have proven: set the clock`,
    };
  }
  if (edge.clockTrusted)
    return { name: 'clock', verdict: 'good', message: `${formatTime(now)}, synchronised` };
  return {
    name: 'clock',
    verdict: 'warning',
    message: `${formatTime(now)}, and no time service says that it is synchronised (normal without a network)`,
  };
};

const disk = async ({ freeBytes }: Machine, directory: string): Promise<Finding> => {
  const free = await freeBytes(directory);
  const message =
    free === 0
      ? `no space or no inodes left in ${directory} (df, df -i)`
      : `${Math.floor(free / (1 << 20))} MiB free in ${directory}`;
  return { name: 'disk', verdict: free < LITTLE_SPACE ? 'warning' : 'good', message };
};

const permissions = async (machine: EnrolledMachine): Promise<Finding> => {
  const { state } = machine;
  try {
    const key = await readableByOthers([keyFile(state.directory), ageFile(state.directory)]);
    if (key !== undefined) {
      const message = `others can read ${key}: run chmod 600 on it, and enrol again if somebody may have read it`;
      return { name: 'permissions', verdict: 'bad', message };
    }
    const [exposed] = exposedState(state.directory);
    return exposed ?? (await writable([state.directory, ...rootOf(machine)]));
  } catch (error) {
    return { name: 'permissions', verdict: 'bad', message: toFleetError(error).message };
  }
};

const lostKey = async (machine: EnrolledMachine): Promise<readonly Finding[]> => {
  try {
    await loadKey(machine);
  } catch (error) {
    const found = toFleetError(error);
    // `permissions` has named a key that cannot be read, or that others can.
    if (found.code !== 'PERMISSION')
      return [{ name: 'key', verdict: 'bad', message: formatSentences(found) }];
  }
  return [];
};

/** Findings about state files that others can access. At start, the agent corrects the modes of files that its user owns. */
const exposedState = (directory: string): readonly Finding[] =>
  [directory, ...databaseFiles(stateFile(directory))].flatMap((path) => {
    const found = statSync(path, { throwIfNoEntry: false });
    if (!found || !isExposed(found)) return [];
    const mode = found.isDirectory() ? '700' : '600';
    const message = `others can read or change ${path}: run chmod ${mode} on it`;
    return [{ name: 'permissions', verdict: found.uid === process.geteuid?.() ? 'bad' : 'warning', message }];
  });

/** The first file that others can read. Only the first file must exist: older agents have no age identity. */
const readableByOthers = async (files: readonly string[]): Promise<string | undefined> => {
  for (const file of files) {
    const found = await stat(file).catch((error: unknown) => {
      if (file === files[0]) throw error;
    });
    if (found && (found.mode & 0o077) !== 0) return file;
  }
  return undefined;
};

const systemd = async ({ config, signal }: Machine): Promise<Finding> => {
  if (!config.targets.includes('host')) {
    return { name: 'systemd', verdict: 'good', message: 'not used here (targets without host)' };
  }
  if (config.services === 'none') {
    return { name: 'systemd', verdict: 'good', message: 'not used here (services: none)' };
  }
  const { stdout, code } = await runCommand(['systemctl', 'is-system-running'], {
    timeoutMs: 10_000,
    signal,
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
  });
  const said = stdout.trim();
  if (code === 0) return { name: 'systemd', verdict: 'good', message: said };
  if (said === 'degraded') {
    return { name: 'systemd', verdict: 'warning', message: 'degraded: see systemctl --failed' };
  }
  return {
    name: 'systemd',
    verdict: 'bad',
    message: `${said || 'systemd does not answer'}: units cannot be started (services: none would write files only)`,
  };
};

const root = ({ state, edge }: EnrolledMachine): Finding => {
  const trusted = readRoot(state);
  if (!trusted) {
    return {
      name: 'root',
      verdict: 'warning',
      message: 'no trust root yet: import the answer to the enrolment',
    };
  }
  const now = trustedTime({ now: edge.now(), trusted: edge.clockTrusted }, readTrustRow(state).timeFloor);
  const left = trusted.expires.getTime() - now.getTime();
  const message = `trust root ${trusted.version} ${left > 0 ? 'ends' : 'ended'} on ${formatTime(trusted.expires)}`;
  if (left <= 0)
    return { name: 'root', verdict: 'bad', message: `${message}: bring a medium with the next one` };
  return { name: 'root', verdict: left < SOON_MS ? 'warning' : 'good', message };
};

const freshness = ({ state, identity, edge }: EnrolledMachine): Finding => {
  const name = 'freshness';
  const stale = readStaleness({ state, identity, edge });
  const glass = readCondition(state, 'glass');
  if (stale) {
    const why = stale.causes.map((cause) => `${cause.why}; ${cause.todo}`).join('. ');
    return {
      name,
      verdict: 'bad',
      message: `stale since ${stale.since}, running packages are not affected: ${why}`,
    };
  }
  if (!glass)
    return {
      name,
      verdict: 'good',
      message: 'the running release is confirmed as the newest, or none was accepted yet',
    };
  const message = `${glass.operator} imported expired statements at ${glass.at}: ask for a regular release`;
  return { name, verdict: 'warning', message };
};

const store = ({ state }: EnrolledMachine): Finding => {
  const said = String(state.db.pragma('quick_check(1)', { simple: true }));
  return said === 'ok'
    ? { name: 'store', verdict: 'good', message: 'the database is sound' }
    : { name: 'store', verdict: 'bad', message: `the database is damaged: ${said}` };
};

/** Findings of the targets and image providers about themselves. */
const examineTargets = async ({ targets, images, signal }: Machine): Promise<readonly Finding[]> => {
  const found: Finding[] = [];
  for (const it of [...targets, ...images]) found.push(...((await it.examine?.(signal)) ?? []));
  return found;
};

const TRIAL_UNIT = 'fleet-agent-trial.service';

/** Reports an upgrade of the agent that is under way, cannot continue or was undone; nothing otherwise. */
const examineUpgrade = async (state: string, signal: AbortSignal): Promise<readonly Examined[]> => {
  const name = 'upgrade';
  const upgrade = readUpgrade(state);
  if (upgrade === undefined) return [];
  if (upgrade.kind === 'undone') return [{ name, verdict: 'warning', message: upgrade.message }];
  const { stdout } = await runCommand(['systemctl', 'show', '--value', '--property=SubState', TRIAL_UNIT], {
    timeoutMs: 10_000,
    signal,
    env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
  });
  switch (stdout.trim()) {
    case 'start-pre':
    case 'start':
    case 'running':
      return [{ name, verdict: 'warning', message: upgrade.message }];
    case 'auto-restart': {
      const message = `${upgrade.message}. Its last attempt failed, and the next one begins within 10 seconds: "dpkg --audit" and "df" may show why`;
      return [{ name, verdict: 'bad', message }];
    }
    default: {
      const message = `${upgrade.message}. ${TRIAL_UNIT} does not run: "systemctl start ${TRIAL_UNIT}" continues it`;
      return [{ name, verdict: 'bad', message }];
    }
  }
};
