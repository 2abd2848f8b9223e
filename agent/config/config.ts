import { durationMs } from '#bundles/duration';
import type { AgentConfig } from '#bundles/schemas/types/agent-config';

/** The configuration of one agent; the schema describes each key and its default. */
export type Config = Required<AgentConfig>;

export const DEFAULT_CONFIG_FILE = '/etc/fleet-agent/agent.yaml';

export const intervalMs = ({ interval }: Pick<Config, 'interval'>): number => durationMs(interval);
