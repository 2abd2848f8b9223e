import { durationMs } from '#bundles/duration';
import type { ClockTrust } from '../model/edge.ts';

/** Images that must be signed on this machine, in addition to policies of bundles; `keys` are paths of files. */
export type OwnImagePolicy = {
  readonly match: readonly string[];
  readonly except?: readonly string[];
  readonly keys: readonly string[];
};

/** The configuration of one agent; bundles/schemas/agent-config.schema.json describes each key. */
export type Config = {
  readonly state: string;
  readonly root: string;
  readonly services: 'systemd' | 'none';
  readonly onDrift: 'correct' | 'report';
  readonly onStale: 'continue' | 'block-changes';
  /** Permits break-glass imports of expired statements. Only in the file, because a flag would permit it to every operator. */
  readonly breakGlass: boolean;
  /** Whether a reboot policy of the release applies to this machine. Only in the file: it is the owner's veto. */
  readonly allowReboot: boolean;
  /** '30s', '5m', '1h' */
  readonly interval: string;
  readonly maxValidityDays: number;
  readonly pruneBudget: number;
  /** Limit for all copies of replaced files, in MiB. */
  readonly replacedMib: number;
  /** Size of the unacknowledged events, in MiB, above which repetitions are replaced by their number. */
  readonly outboxMib: number;
  readonly clock: ClockTrust;
  readonly targets: readonly ('host' | 'kubernetes')[];
  /** '': in the cluster by the pod's service account, else KUBECONFIG or ~/.kube/config. */
  readonly kubeconfig: string;
  readonly kubeContext: string;
  /** The agent's own namespace, which contains its lease. */
  readonly namespace: string;
  readonly healthTimeout: string;
  /** Socket of the node's containerd, or ''. */
  readonly containerd: string;
  /** The site's registry that images are pushed to, 'oci://...', or ''. */
  readonly imageRegistry: string;
  /** Where releases come from, 'oci://host/prefix', or '' where only media come. */
  readonly registry: string;
  /** Where reports go, 'https://hub:8443', or '' where only media go. */
  readonly hub: string;
  readonly poll: string;
  /** Time after which an agent without events signs when it last looked: '6h'. */
  readonly signLooks: string;
  readonly plainHttp: readonly string[];
  /** Only in the file. */
  readonly imagePolicy: readonly OwnImagePolicy[];
  readonly caFile: string;
  readonly authFile: string;
  /** Maintenance windows as '<cron> for <duration>', in which a new release may begin; empty: always. */
  readonly windows: readonly string[];
  /** Imports a medium when it is plugged in. This key and the three below: only in the file, which the unit reads. */
  readonly plugIn: boolean;
  readonly plugInFileSystems: readonly ('vfat' | 'exfat' | 'ext4')[];
  readonly plugInMaxGib: number;
  /** Language of the sign for the technician. */
  readonly language: 'en' | 'de';
};

export const DEFAULT_CONFIG_FILE = '/etc/fleet-agent/agent.yaml';

export const intervalMs = ({ interval }: Pick<Config, 'interval'>): number => durationMs(interval);
