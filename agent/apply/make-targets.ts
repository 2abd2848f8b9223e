import { hostname } from 'node:os';
import { join } from 'node:path';
import { durationMs } from '#bundles/duration';
import type { Config } from '../config/config.ts';
import { findAgeIdentity } from '../hub/age-identity.ts';
import { fullName, type Identity } from '../store/identity.ts';
import { readReplaced } from '../store/applied/inventory.ts';
import { placeHeld } from '../store/lock.ts';
import type { State } from '../store/state.ts';
import type { BackupLimits } from './host/backups/make-room.ts';
import { hostTarget } from './host/host-target.ts';
import { runCommand } from './host/run-command.ts';
import { openClusterAccess } from './kubernetes/api/cluster-access.ts';
import type { KubernetesApi } from './kubernetes/api/kubernetes-api.ts';
import { openKubernetesApi } from './kubernetes/api/open-kubernetes-api.ts';
import { kubernetesTarget } from './kubernetes/kubernetes-target.ts';
import type { Target } from '../model/target.ts';

/** Retry budget for an unreachable API server, long enough for a restart; after it the operation waits for the next look. */
const RETRY_BUDGET_MS = 60_000;
const REQUEST_MS = 60_000;
/** Timeout of one step, such as waiting until an object is gone or a definition is established. */
const STEP_MS = 120_000;

/** Builds the configured targets. Connections are opened on first use. */
export const makeTargets = async (
  config: Config,
  identity: Identity,
  state: State,
): Promise<readonly Target[]> =>
  config.targets.map((kind) => {
    switch (kind) {
      case 'host':
        return makeHost(config, state);
      case 'kubernetes':
        return makeKubernetes(config, identity, state);
    }
  });

const makeHost = (config: Config, state: State): Target =>
  hostTarget({
    state: config.state,
    root: config.root,
    services: config.services,
    ...backupsOf(config, state),
    isRoot: process.getuid?.() === 0,
    run: runCommand,
  });

/** Folder and limit for copies of replaced things, shared by files of the host and objects of the cluster. */
const backupsOf = ({ state: directory, replacedMib }: Config, state: State): BackupLimits => ({
  backups: join(directory, 'replaced'),
  maxBackupBytes: replacedMib * (1 << 20),
  pinnedBackups: () => readReplaced(state),
});

/** The API of the cluster that the configuration names. @throws FleetError CONFIG_INVALID */
export const openCluster = async ({ kubeconfig, kubeContext }: Config): Promise<KubernetesApi> =>
  openKubernetesApi(await openClusterAccess({ kubeconfig, context: kubeContext }), {
    patienceMs: RETRY_BUDGET_MS,
    requestMs: REQUEST_MS,
  });

const makeKubernetes = (config: Config, identity: Identity, state: State): Target =>
  kubernetesTarget({
    open: () => openCluster(config),
    fleet: identity.fleet,
    lease: { namespace: config.namespace, who: whoOf(identity), place: () => placeHeld(config.state) },
    healthTimeoutMs: durationMs(config.healthTimeout),
    stepTimeoutMs: STEP_MS,
    adopt: 'ifUnowned',
    copies: { ...backupsOf(config, state), identity: () => findAgeIdentity(config.state) },
  });

/** The holder's name in the lease, for people. */
const whoOf = (identity: Identity): string =>
  `${fullName(identity)}, process ${process.pid} on ${hostname()}`;
