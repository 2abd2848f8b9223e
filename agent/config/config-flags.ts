import { Flags } from '@oclif/core';
import { repeatable } from '#cli/flags';

/** Flags and environment variables for all configuration keys except those that are only in the file, shared by all commands. */
export const CONFIG_FLAGS = {
  config: Flags.string({
    description: 'Configuration file [default: /etc/fleet-agent/agent.yaml]',
    env: 'FLEET_AGENT_CONFIG',
    helpGroup: 'CONFIGURATION',
  }),
  state: Flags.string({
    description: 'State directory of the agent [default: /var/lib/fleet-agent]',
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
  'on-stale': Flags.string({
    description:
      'continue or block-changes, when neither a valid release nor a lease covers the running packages [default: continue]',
    env: 'FLEET_AGENT_ON_STALE',
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
    description: 'Packages that a release may remove without confirmation [default: 5]',
    env: 'FLEET_AGENT_PRUNE_BUDGET',
    helpGroup: 'CONFIGURATION',
  }),
  'replaced-mib': Flags.integer({
    description: 'MiB for copies of files that packages replaced [default: 1024]',
    env: 'FLEET_AGENT_REPLACED_MIB',
    helpGroup: 'CONFIGURATION',
  }),
  'outbox-mib': Flags.integer({
    description: 'MiB of unacknowledged events above which repetitions are dropped [default: 16]',
    env: 'FLEET_AGENT_OUTBOX_MIB',
    helpGroup: 'CONFIGURATION',
  }),
  clock: Flags.string({
    description: 'Whether the clock is synchronised: auto, trusted or untrusted [default: auto]',
    env: 'FLEET_AGENT_CLOCK',
    helpGroup: 'CONFIGURATION',
  }),
  'metrics-file': Flags.string({
    description: 'File for the textfile collector of node_exporter [default: none]',
    env: 'FLEET_AGENT_METRICS_FILE',
    helpGroup: 'CONFIGURATION',
  }),
  'metrics-address': Flags.string({
    description: 'Address at which the daemon answers GET /metrics [default: none]',
    env: 'FLEET_AGENT_METRICS_ADDRESS',
    helpGroup: 'CONFIGURATION',
  }),
  targets: Flags.string({
    description: 'Target that packages are applied to [default: host]',
    env: 'FLEET_AGENT_TARGETS',
    helpGroup: 'CONFIGURATION',
    ...repeatable,
    delimiter: ',',
  }),
  kubeconfig: Flags.string({
    description: 'Kubeconfig file [default: none]',
    env: 'FLEET_AGENT_KUBECONFIG',
    helpGroup: 'CONFIGURATION',
  }),
  'kube-context': Flags.string({
    description: 'Context of the kubeconfig [default: none]',
    env: 'FLEET_AGENT_KUBE_CONTEXT',
    helpGroup: 'CONFIGURATION',
  }),
  namespace: Flags.string({
    description:
      'Namespace of the agent, with the lease that admits one agent at a time [default: fleet-agent]',
    env: 'FLEET_AGENT_NAMESPACE',
    helpGroup: 'CONFIGURATION',
  }),
  'health-timeout': Flags.string({
    description: 'How long a package on a cluster may take to become healthy [default: 5m]',
    env: 'FLEET_AGENT_HEALTH_TIMEOUT',
    helpGroup: 'CONFIGURATION',
  }),
  containerd: Flags.string({
    description: 'Socket of the containerd that images of a medium are imported to [default: none]',
    env: 'FLEET_AGENT_CONTAINERD',
    helpGroup: 'CONFIGURATION',
  }),
  'image-folder': Flags.string({
    description: 'Folder from which the image loaders of the nodes take images [default: none]',
    env: 'FLEET_AGENT_IMAGE_FOLDER',
    helpGroup: 'CONFIGURATION',
  }),
  'image-registry': Flags.string({
    description: 'Registry of the site that images are pushed to [default: none]',
    env: 'FLEET_AGENT_IMAGE_REGISTRY',
    helpGroup: 'CONFIGURATION',
  }),
  registry: Flags.string({
    description: 'Registry to pull releases from [default: none]',
    env: 'FLEET_AGENT_REGISTRY',
    helpGroup: 'CONFIGURATION',
  }),
  hub: Flags.string({
    description: 'Hub to send reports to [default: none]',
    env: 'FLEET_AGENT_HUB',
    helpGroup: 'CONFIGURATION',
  }),
  poll: Flags.string({
    description: 'Time between two polls of the registry [default: 1m]',
    env: 'FLEET_AGENT_POLL',
    helpGroup: 'CONFIGURATION',
  }),
  'sign-looks': Flags.string({
    description: 'Time between signed reports of an agent without events [default: 6h]',
    env: 'FLEET_AGENT_SIGN_LOOKS',
    helpGroup: 'CONFIGURATION',
  }),
  'plain-http': Flags.string({
    description: 'Registries, host[:port], to contact without TLS [default: none]',
    env: 'FLEET_AGENT_PLAIN_HTTP',
    helpGroup: 'CONFIGURATION',
    ...repeatable,
    delimiter: ',',
  }),
  'ca-file': Flags.string({
    description:
      "File of PEM certificates to trust for registries, in addition to the system's [default: none]",
    env: 'FLEET_AGENT_CA_FILE',
    helpGroup: 'CONFIGURATION',
  }),
  'auth-file': Flags.string({
    description: "Docker or podman auth file with the registries' credentials [default: none]",
    env: 'FLEET_AGENT_AUTH_FILE',
    helpGroup: 'CONFIGURATION',
  }),
  windows: Flags.string({
    description: "'<cron> for <duration>': when a new release may begin to be applied [default: none]",
    env: 'FLEET_AGENT_WINDOWS',
    helpGroup: 'CONFIGURATION',
    ...repeatable,
  }),
};
