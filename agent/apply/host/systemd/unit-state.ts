import { readProperties } from './read-properties.ts';
import { FleetError } from '#bundles/errors';
import { type SystemdOptions, whyUnmanaged } from '../host-options.ts';
import { systemctl } from './systemctl.ts';
import { isTemplate } from './unit-names.ts';

/** The state of a unit as systemd reports it (org.freedesktop.systemd1(5)). */
export type UnitState = {
  /** loaded, not-found, masked, bad-setting, error */
  readonly load: string;
  /** active, reloading, inactive, failed, activating, deactivating */
  readonly active: string;
  readonly sub: string;
  /** Result of its last run: success, exit-code, signal, timeout ... */
  readonly result: string;
  readonly restarts: number;
  /** Seconds since it became active; undefined if it is not active. */
  readonly upSeconds: number | undefined;
  /** Invocation id, new at each start; empty if it did not run since boot. */
  readonly invocation: string;
  readonly needsReload: boolean;
  /** True for a one-shot unit without RemainAfterExit=, which is inactive after a successful run. */
  readonly oneshot: boolean;
  /** Its name and aliases. */
  readonly names: readonly string[];
  /** Path of its unit file, a link of it where that is outside of the search path; '' without one. */
  readonly fragment: string;
  /** Path of the file that a generator made it of; '' without one. */
  readonly source: string;
  readonly dropIns: readonly string[];
  /** The units that this timer, socket or path unit starts; of a socket with Accept=yes the instances that run. */
  readonly triggers: readonly string[];
  /** The timer, socket and path units that start it; then it may be active or inactive at any time. */
  readonly triggeredBy: readonly string[];
  /** Paths in its ExecStart=: programs, scripts and other arguments. */
  readonly programs: readonly string[];
  /** True for a socket with Accept=yes, which starts an instance for each connection. */
  readonly accepts: boolean;
};

const PROPERTIES = [
  'LoadState',
  'ActiveState',
  'SubState',
  'Result',
  'NRestarts',
  'ActiveEnterTimestampMonotonic',
  'InvocationID',
  'NeedDaemonReload',
  'Type',
  'RemainAfterExit',
  'Names',
  'FragmentPath',
  'SourcePath',
  'DropInPaths',
  'Triggers',
  'TriggeredBy',
  'Accept',
  'ExecStart',
] as const;

/** A unit on disk, and in systemd where the root is '/' and the unit is not a template. */
export type SeenUnit = { readonly enablement: string; readonly state: UnitState | undefined };

/** Units per call of systemctl; keeps its answer below the limit on output. */
const UNITS_PER_CALL = 80;

/**
 * Reads all units with two calls of systemctl, and one more for each that does not exist. @throws FleetError IO if systemctl fails;
 * a unit is never 'inactive' by mistake
 */
export const readUnits = async (
  options: SystemdOptions,
  names: Iterable<string>,
  signal: AbortSignal,
): Promise<ReadonlyMap<string, SeenUnit>> => {
  const all = [...new Set(names)];
  const seen = new Map<string, SeenUnit>();
  for (let at = 0; at < all.length; at += UNITS_PER_CALL) {
    const some = all.slice(at, at + UNITS_PER_CALL);
    const words = await readEnablements(options, some, signal);
    const states = await readStates(options, some, signal);
    for (const [index, name] of some.entries())
      seen.set(name, { enablement: words[index] ?? '', state: states.get(name) });
  }
  return seen;
};

/** @throws FleetError IO if systemctl fails */
export const readUnitState = async (
  options: SystemdOptions,
  name: string,
  signal: AbortSignal,
): Promise<UnitState> => (await askStates(options, [name], signal))[0] as UnitState;

/** The states of units by name, without templates; none where the root is not '/'. @throws FleetError IO if systemctl fails */
export const readStates = async (
  options: SystemdOptions,
  names: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, UnitState>> => {
  const asked = names.filter((name) => !isTemplate(name));
  if (asked.length === 0 || whyUnmanaged(options) !== undefined) return new Map();
  const states = await askStates(options, asked, signal);
  return new Map(asked.map((name, index) => [name, states[index] as UnitState]));
};

/** The states in the order of the names: systemctl separates units by an empty line. */
const askStates = async (
  options: SystemdOptions,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly UnitState[]> => {
  const words = ['show', `--property=${PROPERTIES.join(',')}`, '--', ...names];
  const { code, stdout, stderr } = await systemctl(options, words, signal);
  const blocks = stdout.split('\n\n').map(readProperties);
  const isWhole = ({ length }: typeof blocks): boolean =>
    length === names.length && blocks.every((fields) => fields.get('LoadState') && fields.get('ActiveState'));
  if (code !== 0 || !isWhole(blocks))
    throw new FleetError(
      'IO',
      `systemd cannot be asked about ${names.join(', ')}: ${stderr.trim().split('\n')[0]}`,
    );
  return blocks.map((fields) => unitState((property) => fields.get(property) ?? ''));
};

const unitState = (field: (property: (typeof PROPERTIES)[number]) => string): UnitState => ({
  load: field('LoadState'),
  active: field('ActiveState'),
  sub: field('SubState'),
  result: field('Result'),
  restarts: Number(field('NRestarts') || 0),
  upSeconds: secondsSince(field('ActiveEnterTimestampMonotonic')),
  invocation: field('InvocationID'),
  needsReload: field('NeedDaemonReload') === 'yes',
  oneshot: field('Type') === 'oneshot' && field('RemainAfterExit') === 'no',
  names: listOf(field('Names')),
  fragment: field('FragmentPath'),
  source: field('SourcePath'),
  dropIns: listOf(field('DropInPaths')),
  triggers: listOf(field('Triggers')),
  triggeredBy: listOf(field('TriggeredBy')),
  // { path=/usr/bin/python3 ; argv[]=/usr/bin/python3 /opt/echo/serve.py ; ignore_errors=no ; ...
  programs: [...field('ExecStart').matchAll(/[=\s](\/[^\s;]+)/g)].map(([, path = '']) => path),
  accepts: field('Accept') === 'yes',
});

/** systemctl separates the values of a list by spaces, and quotes a value that has special characters. */
export const listOf = (text: string): readonly string[] =>
  [...text.matchAll(/"((?:[^"\\]|\\.)*)"|\S+/g)].map(([word, quoted]) =>
    quoted === undefined ? word : quoted.replaceAll(/\\(.)/g, '$1'),
  );

/** systemd's timestamps and this process use CLOCK_MONOTONIC; systemd counts in microseconds. */
const secondsSince = (microseconds: string): number | undefined =>
  Number(microseconds) > 0
    ? (Number(process.hrtime.bigint() / 1000n) - Number(microseconds)) / 1e6
    : undefined;

/** Restarts by systemd after which a unit has to stay up for STAYS_UP_SECONDS before it counts as running. */
const MANY_RESTARTS = 3;
export const STAYS_UP_SECONDS = 60;

/** True for a unit in a restart loop, which a single look may see as running. */
export const isLooping = ({ restarts, upSeconds = Number.POSITIVE_INFINITY }: UnitState): boolean =>
  restarts >= MANY_RESTARTS && upSeconds < STAYS_UP_SECONDS;

/** True if it is active or activating, or a one-shot unit that has succeeded since boot. */
export const isUp = (unit: UnitState): boolean =>
  unit.active === 'active' ||
  unit.active === 'reloading' ||
  (unit.active === 'activating' && unit.sub !== 'auto-restart') ||
  hasRun(unit);

/** True if it has processes now, or stays active after its processes ended. */
export const isRunning = ({ active }: UnitState): boolean => !['inactive', 'failed'].includes(active);

/** True for a one-shot unit that has succeeded. */
export const hasRun = (unit: UnitState): boolean =>
  unit.oneshot && unit.active === 'inactive' && unit.result === 'success' && unit.invocation !== '';

/** True if it failed or waits for the next attempt of Restart=. */
export const isFailed = (unit: UnitState): boolean =>
  unit.active === 'failed' || unit.sub === 'auto-restart' || unit.sub === 'auto-restart-queued';

/** State for messages: 'failed (exit-code)', 'inactive (dead)'. */
export const describeUnit = (unit: UnitState): string =>
  isFailed(unit) ? `${unit.active} (${unit.result})` : `${unit.active} (${unit.sub})`;

/**
 * Enablement as `systemctl is-enabled` derives it from the disk and not from systemd's memory: enabled, enabled-runtime, disabled,
 * static, indirect, masked, linked ...; 'not-found' if the unit does not exist.
 */
export const readEnablement = async (
  options: SystemdOptions,
  name: string,
  signal: AbortSignal,
): Promise<string> => (await readEnablements(options, [name], signal))[0] ?? '';

/** The words in the order of the names. systemctl stops at the first unit that does not exist; the call after it starts behind that one. */
const readEnablements = async (
  options: SystemdOptions,
  names: readonly string[],
  signal: AbortSignal,
): Promise<readonly string[]> => {
  const words: string[] = [];
  while (words.length < names.length) {
    const rest = names.slice(words.length);
    const { code, stdout, stderr } = await systemctl(options, ['is-enabled', '--', ...rest], signal);
    // systemctl answers for init scripts before all others, so its lines are in another order.
    if (rest.length > 1 && stderr.includes('not a native service')) {
      for (const name of rest) words.push(await readEnablement(options, name, signal));
      return words;
    }
    words.push(
      ...stdout
        .split('\n')
        .filter((word) => word !== '')
        .slice(0, rest.length),
    );
    if (words.length === names.length) return words;
    if (!/no such file|not exist|not found/i.test(stderr))
      throw new FleetError(
        'IO',
        `systemctl is-enabled ${names[words.length]} ended with ${code}: ${stderr.trim().split('\n')[0]}`,
      );
    words.push('not-found');
  }
  return words;
};

/** True if it starts at the next boot, which 'enabled-runtime' does not. */
export const isEnabled = (word: string): boolean =>
  ['enabled', 'alias', 'indirect', 'generated'].includes(word);

export const isMasked = (word: string): boolean => word === 'masked' || word === 'masked-runtime';
