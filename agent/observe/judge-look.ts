import { existsSync } from 'node:fs';
import { durationMs } from '#bundles/duration';
import type { Timestamp } from '#bundles/time';
import type { Config } from '../config/config.ts';
import { readConfig } from '../config/read-config.ts';
import type { Edge } from '../model/edge.ts';
import { ageOf, type Moment, readLastLook } from '../store/last-look.ts';
import { serviceState } from '../store/service-lock.ts';
import type { State } from '../store/state.ts';
import { askService, type ServiceAnswer } from './ask-service.ts';

/** How current the verdicts of a machine are. */
export type LookVerdict = {
  readonly service: {
    /** null: this user may not look. */
    readonly running: boolean | null;
    /** A service has run here, or is installed. Elsewhere commands look (`run --once`, `import`). */
    readonly expected: boolean;
    /** Command that starts it where it should run and does not. */
    readonly todo: string | null;
  };
  /** The last look; null if there was none. */
  readonly last: Looked | null;
  /** Why the verdict about a package is not current; undefined if it is. */
  readonly whyOld: (assignment: string) => string | undefined;
  readonly looked: (assignment: string) => Looked | null;
};

/** `ageSeconds`: null if the clock was set back since, so that the age is unknown. */
export type Looked = { readonly at: Timestamp; readonly ageSeconds: number | null };

/** Configuration that says how often a service looks, and which one it is. */
export type LookConfig = Partial<Pick<Config, 'interval' | 'state'>>;

const DEFAULT_INTERVAL = '5m';
/** Intervals without a look, and time for a look that applies something, before verdicts count as old. */
const MISSED_INTERVALS = 3;
const SLACK_MS = 900_000;

/** Judges from the agent's own records whether its verdicts are current. Reads no live state and waits for no lock. */
export const judgeLook = (
  { state, edge }: { readonly state: Pick<State, 'directory'>; readonly edge: Edge },
  config: LookConfig,
): LookVerdict => {
  const { last, packages } = readLastLook(state);
  const isInstalled = hasUnit(config);
  const locked = serviceState(state.directory);
  // A service that has just been started takes its lock a second later; the lock says nothing of one that never ran, or that a timer starts.
  const answer = locked !== 'running' && isInstalled ? askService() : 'unknown';
  const found = answer === 'running' ? 'running' : locked;
  const expected = answer !== 'waits' && (found === 'running' || found === 'stopped' || isInstalled);
  const running = found === 'unknown' && answer === 'unknown' ? null : found === 'running';
  const isStopped = expected && running === false;
  // Commands look where no service ran yet: after the import of a first medium that counts as any other look.
  const hasStopped = isStopped && locked === 'stopped';
  const longest = (MISSED_INTERVALS * durationMs(config.interval ?? DEFAULT_INTERVAL) + SLACK_MS) / 1000;
  const looked = (moment: Moment | undefined): Looked | null => {
    if (!moment) return null;
    const age = ageOf(moment, edge);
    return { at: moment.at, ageSeconds: age === undefined ? null : Math.round(age / 1000) };
  };
  return {
    service: {
      running,
      expected,
      todo: isStopped ? suggestAction(isInstalled, answer) : null,
    },
    last: looked(last),
    looked: (assignment) => looked(packages[assignment]),
    whyOld: (assignment) => {
      const one = looked(packages[assignment]);
      if (!one) return `it was not compared with its release yet${isStopped ? STOPPED : ''}`;
      if (one.ageSeconds === null)
        return `it was last compared at ${one.at}, and the clock was set back since`;
      if (!hasStopped && one.ageSeconds <= longest) return undefined;
      return `it was last compared at ${one.at}${isStopped ? STOPPED : ''}`;
    },
  };
};

const STOPPED = ', and the service is not running';

const suggestAction = (isInstalled: boolean, answer: ServiceAnswer): string => {
  if (!isInstalled) return 'fleet-agent run';
  const enable = 'systemctl enable --now fleet-agent';
  return answer === 'masked' ? `systemctl unmask fleet-agent && ${enable}` : enable;
};

const UNIT_FOLDERS = ['/etc/systemd/system', '/usr/lib/systemd/system', '/lib/systemd/system'];

/** True if systemd runs here and has the service of this state directory. */
export const hasUnit = ({ state }: Pick<LookConfig, 'state'>): boolean =>
  state !== undefined &&
  existsSync('/run/systemd/system') &&
  UNIT_FOLDERS.some((folder) => existsSync(`${folder}/fleet-agent.service`)) &&
  state === stateOfService();

/** The service reads the configuration of this machine; a command may be given another one. */
const stateOfService = (): string | undefined => {
  try {
    return readConfig(undefined, {}).state;
  } catch {
    return undefined;
  }
};
