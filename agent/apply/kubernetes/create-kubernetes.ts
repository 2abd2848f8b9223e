import { hostname } from 'node:os';
import { durationMs } from '#bundles/duration';
import type { Config } from '../../config/config.ts';
import { findAgeIdentity } from '../../hub/age-identity.ts';
import type { Target } from '../../model/target.ts';
import { fullName, type Identity } from '../../store/identity.ts';
import { placeHeld } from '../../store/lock.ts';
import type { BackupLimits } from '../host/backups/ensure-room.ts';
import { openClusterAccess } from './api/cluster-access.ts';
import type { KubernetesApi } from './api/kubernetes-api.ts';
import { openKubernetesApi } from './api/open-kubernetes-api.ts';
import { kubernetesTarget } from './kubernetes-target.ts';

/** Retry budget for an unreachable API server, long enough for a restart; after it the operation waits for the next look. */
const RETRY_BUDGET_MS = 60_000;
const REQUEST_MS = 60_000;
/** Timeout of one step, such as waiting until an object is gone or a definition is established. */
const STEP_MS = 120_000;

/** The API of the cluster that the configuration names. @throws FleetError CONFIG_INVALID */
export const openCluster = async ({ kubeconfig, kubeContext }: Config): Promise<KubernetesApi> =>
  openKubernetesApi(await openClusterAccess({ kubeconfig, context: kubeContext }), {
    patienceMs: RETRY_BUDGET_MS,
    requestMs: REQUEST_MS,
  });

/** Builds the target of the configured cluster. It connects on first use. */
export const createKubernetes = (config: Config, identity: Identity, backups: BackupLimits): Target =>
  kubernetesTarget({
    open: () => openCluster(config),
    fleet: identity.fleet,
    lease: { namespace: config.namespace, who: holderNameOf(identity), place: () => placeHeld(config.state) },
    healthTimeoutMs: durationMs(config.healthTimeout),
    stepTimeoutMs: STEP_MS,
    adopt: config.adopt,
    deployers: config.deployers,
    reach: {
      reserved: new Set([config.namespace, config.workspaceAccounts].filter((name) => name !== '')),
      systemNamespaces: config.systemNamespaces,
    },
    accounts: config.workspaceAccounts === '' ? undefined : config.workspaceAccounts,
    copies: { ...backups, identity: () => findAgeIdentity(config.state) },
  });

/** The holder's name in the lease, for people. */
const holderNameOf = (identity: Identity): string =>
  `${fullName(identity)}, process ${process.pid} on ${hostname()}`;
