import { FleetError } from '#bundles/errors';
import type { HostTargetOptions } from '../host-options.ts';
import { systemctl } from './systemctl.ts';

/** What systemd says of a unit (org.freedesktop.systemd1(5)). */
export type UnitState = {
  /** loaded, not-found, masked, bad-setting, error */
  readonly load: string;
  /** active, reloading, inactive, failed, activating, deactivating */
  readonly active: string;
  readonly sub: string;
  /** Why it is not active: success, exit-code, signal, timeout ... */
  readonly result: string;
  readonly restarts: number;
  /** Seconds since it became active; undefined while it is not. */
  readonly upSeconds: number | undefined;
  /** Another one at each start; empty when it did not run since boot. */
  readonly invocation: string;
  readonly needsReload: boolean;
  /** A one-shot that does not stay 'active' after it did its work. */
  readonly oneshot: boolean;
  /** A timer, socket or path starts it: that it runs now and not then is as it should be. */
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

/** @throws FleetError IO when systemd cannot be asked: never 'inactive' by mistake */
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

/** systemd and this process count from the same boot (CLOCK_MONOTONIC), systemd in microseconds. */
const secondsSince = (microseconds: string): number | undefined =>
  Number(microseconds) > 0
    ? (Number(process.hrtime.bigint() / 1000n) - Number(microseconds)) / 1e6
    : undefined;

/** Restarts by systemd after which a unit has to stay up for STAYS_UP_SECONDS before it counts as running. */
const MANY_RESTARTS = 3;
export const STAYS_UP_SECONDS = 60;

/** Does it come up, end and come up again? A look alone always meets it running. */
export const isLooping = ({ restarts, upSeconds = Number.POSITIVE_INFINITY }: UnitState): boolean =>
  restarts >= MANY_RESTARTS && upSeconds < STAYS_UP_SECONDS;

/** Runs, is about to, or is a one-shot that has run since boot and succeeded. */
export const isUp = (unit: UnitState): boolean =>
  unit.active === 'active' ||
  unit.active === 'reloading' ||
  (unit.active === 'activating' && unit.sub !== 'auto-restart') ||
  hasRun(unit);

/** A one-shot that did its work. */
export const hasRun = (unit: UnitState): boolean =>
  unit.oneshot && unit.active === 'inactive' && unit.result === 'success' && unit.invocation !== '';

/** Failed, or between two attempts of Restart=. */
export const isFailed = (unit: UnitState): boolean =>
  unit.active === 'failed' || unit.sub === 'auto-restart' || unit.sub === 'auto-restart-queued';

/** 'failed (exit-code)', 'inactive (dead)'. */
export const describeUnit = (unit: UnitState): string =>
  isFailed(unit) ? `${unit.active} (${unit.result})` : `${unit.active} (${unit.sub})`;

/**
 * The word of `systemctl is-enabled`, asked of the disk and not of what systemd remembers: enabled, enabled-runtime,
 * disabled, static, indirect, masked, linked ...; 'not-found' where there is no such unit.
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

/** Comes up at the next boot; 'enabled-runtime' does not. */
export const isEnabled = (word: string): boolean =>
  ['enabled', 'alias', 'indirect', 'generated'].includes(word);

export const isMasked = (word: string): boolean => word === 'masked' || word === 'masked-runtime';
