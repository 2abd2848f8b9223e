import type { ClockTrust } from '../edge.ts';

/** What one agent is told by its machine; docs/schemas/agent-config.schema.json describes each key. */
export type Config = {
  readonly state: string;
  readonly root: string;
  readonly services: 'systemd' | 'none';
  readonly onDrift: 'correct' | 'report';
  /** '30s', '5m', '1h' */
  readonly interval: string;
  readonly maxValidityDays: number;
  readonly pruneBudget: number;
  readonly clock: ClockTrust;
};

export const DEFAULT_CONFIG_FILE = '/etc/fleet-agent/agent.yaml';

const UNITS: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };

export const intervalMs = ({ interval }: Pick<Config, 'interval'>): number =>
  Number.parseInt(interval, 10) * (UNITS[interval.slice(-1)] ?? 1000);
