import { Flags } from '@oclif/core';

/** Every key of the configuration as a flag and an environment variable, the same for all commands. */
export const CONFIG_FLAGS = {
  config: Flags.string({
    description: 'Configuration file [default: /etc/fleet-agent/agent.yaml]',
    env: 'FLEET_AGENT_CONFIG',
    helpGroup: 'CONFIGURATION',
  }),
  state: Flags.string({
    description: "Directory of the agent's memory [default: /var/lib/fleet-agent]",
    env: 'FLEET_AGENT_STATE',
    helpGroup: 'CONFIGURATION',
  }),
  root: Flags.string({
    description: 'Directory that packages see as / [default: /]',
    env: 'FLEET_AGENT_ROOT',
    helpGroup: 'CONFIGURATION',
  }),
  services: Flags.string({
    description: 'systemd starts units, none only writes files [default: systemd]',
    env: 'FLEET_AGENT_SERVICES',
    helpGroup: 'CONFIGURATION',
  }),
  'on-drift': Flags.string({
    description: 'correct or report what differs from the package [default: correct]',
    env: 'FLEET_AGENT_ON_DRIFT',
    helpGroup: 'CONFIGURATION',
  }),
  interval: Flags.string({
    description: 'Time between two looks of the daemon, like 30s, 5m, 1h [default: 5m]',
    env: 'FLEET_AGENT_INTERVAL',
    helpGroup: 'CONFIGURATION',
  }),
  'max-validity-days': Flags.integer({
    description: 'Longest validity a release may claim [default: 400]',
    env: 'FLEET_AGENT_MAX_VALIDITY_DAYS',
    helpGroup: 'CONFIGURATION',
  }),
  'prune-budget': Flags.integer({
    description: 'Packages a release may remove unasked [default: 5]',
    env: 'FLEET_AGENT_PRUNE_BUDGET',
    helpGroup: 'CONFIGURATION',
  }),
  clock: Flags.string({
    description: 'auto, trusted or untrusted: is the clock known to be right? [default: auto]',
    env: 'FLEET_AGENT_CLOCK',
    helpGroup: 'CONFIGURATION',
  }),
};
