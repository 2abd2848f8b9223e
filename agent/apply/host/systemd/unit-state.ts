import { FleetError } from '#bundles/errors';
import type { HostTargetOptions } from '../host-options.ts';
import { systemctl } from './systemctl.ts';

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
  /** True if a timer, socket or path unit starts it; then it may be active or inactive at any time. */
  readonly triggered: boolean;
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
  'TriggeredBy',
] as const;

/** @throws FleetError IO if systemctl fails; a unit is never 'inactive' by mistake */
export const readUnitState = async (
  options: HostTargetOptions,
  name: string,
  signal: AbortSignal,
): Promise<UnitState> => {
  const words = ['show', `--property=${PROPERTIES.join(',')}`, '--', name];
  const { code, stdout, stderr } = await systemctl(options, words, signal);
  const fields = new Map(
    stdout.split('\n').map((line) => {
      const at = line.indexOf('=');
      return [line.slice(0, at), line.slice(at + 1)];
    }),
  );
  const field = (property: (typeof PROPERTIES)[number]) => fields.get(property) ?? '';
  if (code !== 0 || !field('LoadState') || !field('ActiveState'))
    throw new FleetError('IO', `systemd cannot be asked about ${name}: ${stderr.trim().split('\n')[0]}`);
  return {
    load: field('LoadState'),
    active: field('ActiveState'),
    sub: field('SubState'),
    result: field('Result'),
    restarts: Number(field('NRestarts') || 0),
    upSeconds: secondsSince(field('ActiveEnterTimestampMonotonic')),
    invocation: field('InvocationID'),
    needsReload: field('NeedDaemonReload') === 'yes',
    oneshot: field('Type') === 'oneshot' && field('RemainAfterExit') === 'no',
    triggered: field('TriggeredBy') !== '',
  };
};

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
  options: HostTargetOptions,
  name: string,
  signal: AbortSignal,
): Promise<string> => {
  const { code, stdout, stderr } = await systemctl(options, ['is-enabled', '--', name], signal);
  const word = stdout.trim().split('\n')[0] ?? '';
  if (word !== '') return word;
  if (/no such file|not exist|not found/i.test(stderr)) return 'not-found';
  throw new FleetError(
    'IO',
    `systemctl is-enabled ${name} ended with ${code}: ${stderr.trim().split('\n')[0]}`,
  );
};

/** True if it starts at the next boot, which 'enabled-runtime' does not. */
export const isEnabled = (word: string): boolean =>
  ['enabled', 'alias', 'indirect', 'generated'].includes(word);

export const isMasked = (word: string): boolean => word === 'masked' || word === 'masked-runtime';
