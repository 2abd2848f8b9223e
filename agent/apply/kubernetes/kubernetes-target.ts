import { defined } from '#bundles/defined';
import { pruneBackups } from '../host/backups/ensure-room.ts';
import type { DesiredPackage, OwnedObject, Target } from '../../model/target.ts';
import type { KubernetesApi, LiveObject } from './api/kubernetes-api.ts';
import { keyOf, refOf } from './desired/object-key.ts';
import { checkReach, inRealScope } from './desired/check-reach.ts';
import { resolveWanted } from './desired/resolve-wanted.ts';
import { examineKubernetes } from './examine/examine-kubernetes.ts';
import { deleteHooks } from './execute/delete-hooks.ts';
import { executeFailureHooks } from './execute/execute-failure-hooks.ts';
import { executeStep } from './execute/execute-step.ts';
import { currentAsApplied, versionsAsApplied } from './health/settle/current-as-applied.ts';
import { settleKubernetes } from './health/settle-kubernetes.ts';
import type { KubernetesTargetOptions } from './kubernetes-options.ts';
import { keysNamed } from './plan/keys-named.ts';
import { findGone } from './live/find-gone.ts';
import { kubernetesExclusive } from './lease/kubernetes-exclusive.ts';
import { agentOf } from './lease/lease-record.ts';
import { observeKubernetes } from './observe/observe-kubernetes.ts';
import { showOnCluster } from './show/show-on-cluster.ts';
import { stateOf } from './owned-state.ts';
import { createRightsCheck } from './plan/check-rights.ts';
import { planAdoptions } from './plan/plan-adoptions.ts';
import { openPlan, planKubernetes } from './plan/plan-kubernetes.ts';
import { accountsOf, throughAccounts } from './through-accounts.ts';
import { watchOwned } from './watch/watch-owned.ts';
import { type Manifest, readManifests } from './desired/read-wanted.ts';
import { isFailureHook, isHook } from './desired/wanted-object.ts';
import { allCurrent } from './health/all-current.ts';

export type { KubernetesTargetOptions } from './kubernetes-options.ts';

/** The target of a cluster: applies objects by server-side apply under one field manager and judges health like kstatus. */
export const kubernetesTarget = (options: KubernetesTargetOptions): Target => {
  let opened: Promise<KubernetesApi> | undefined;
  /** By assignment: whether all objects were Current when they were last observed. */
  const wellness = new Map<string, boolean>();
  const rights = createRightsCheck();
  const api = (): Promise<KubernetesApi> => {
    if (opened) return opened;
    const opening = options.open();
    // Not cached after a failure, so that a corrected kubeconfig is read again.
    opening.catch(() => {
      opened = undefined;
    });
    opened = opening;
    return opening;
  };
  /** The cluster as the accounts of a package see it. */
  const apiFor = async (
    desired: DesiredPackage | undefined,
    owned: readonly OwnedObject[],
  ): Promise<KubernetesApi> => throughAccounts(await api(), accountsOf(options.accounts, desired, owned));
  /** The objects of a package that is applied, read as its accounts see the cluster, and the owner in their marks. */
  const resolve = async (desired: DesiredPackage, signal: AbortSignal) => {
    const open = await apiFor(desired, []);
    const wanted = await resolveWanted(open, options.fleet, desired, signal);
    return { open, wanted, owner: { fleet: options.fleet, assignment: desired.assignment } };
  };
  return {
    kind: 'kubernetes',
    plan: async (desired, owned, taken, signal) => {
      const own = await api();
      const accounts = accountsOf(options.accounts, desired, owned);
      const open = throughAccounts(own, accounts);
      if (desired && !desired.ranBefore && !desired.onlyRemovals) {
        const wanted = await resolveWanted(open, options.fleet, desired, signal);
        checkReach(options.reach, desired, await inRealScope(open, wanted, signal));
        await rights.check(own, wanted, (key) => accounts?.of(key), signal);
      }
      return planKubernetes({ options, api: open, accounts, desired, owned, taken, signal });
    },
    adoptions: async (desired, owned, taken, signal) => {
      const accounts = accountsOf(options.accounts, desired, owned);
      const open = throughAccounts(await api(), accounts);
      return planAdoptions(await openPlan({ options, api: open, accounts, desired, owned, taken, signal }));
    },
    wants: keysWanted,
    claims: keysWanted,
    named: keysNamed,
    retryMs: options.healthTimeoutMs,
    seconds: (desired) => longestMs(desired, options.healthTimeoutMs) / 1000,
    execute: async (step, desired, signal) =>
      executeStep(
        options,
        await apiFor(desired, [{ key: step.key, state: step.detail }]),
        step,
        desired,
        signal,
      ),
    waitsBeside: true,
    settle: async (desired, signal) => {
      const { open, wanted, owner } = await resolve(desired, signal);
      const managed = wanted.objects.filter(({ policy }) => policy.apply !== 'ignore');
      const waited = managed.filter(
        (object) => !isFailureHook(object) && !(desired.ranBefore && isHook(object)),
      );
      const current = currentAsApplied(desired);
      const changed = versionsAsApplied(desired);
      const checks = await settleKubernetes(open, waited, options.healthTimeoutMs, signal, {
        current,
        changed,
      });
      return [...checks, ...(await deleteHooks(open, managed, { owner, ends: ['succeeded'] }, signal))];
    },
    afterFailure: async (desired, attempt, signal) => {
      if (!readManifests(desired).some(isFailureHook)) return [];
      const { open, wanted, owner } = await resolve(desired, signal);
      return executeFailureHooks(options, open, { desired, wanted, owner, attempt }, signal);
    },
    endFailure: async (desired, signal) => {
      if (!readManifests(desired).some(({ policy }) => policy.order.deletedAfter.size > 0)) return [];
      const { open, wanted, owner } = await resolve(desired, signal);
      return deleteHooks(open, wanted.objects, { owner, ends: ['succeeded', 'failed'] }, signal);
    },
    gone: async (desired, applied, signal) => {
      const { open, wanted } = await resolve(desired, signal);
      return findGone(open, wanted, applied, signal);
    },
    observe: async (desired, owned, signal) => {
      wellness.delete(desired.assignment);
      let seen: ReadonlyMap<string, LiveObject> = new Map();
      const drift = await observeKubernetes(
        options,
        await apiFor(desired, owned),
        desired,
        owned,
        signal,
        (live) => {
          seen = live;
        },
      );
      wellness.set(desired.assignment, await allCurrent(seen.values(), desired.objectRules));
      return drift;
    },
    leavesOpen: ({ assignment }) => wellness.get(assignment) === false,
    pruneCopies: (which) => pruneBackups(options.copies, which),
    examine: (signal) => examineKubernetes(api, options.lease?.namespace, signal),
    ...defined({
      show: options.lease
        ? showOnCluster(api, {
            namespace: options.lease.namespace,
            fleet: options.fleet,
            agent: agentOf(options.lease.who),
          })
        : undefined,
      exclusive: options.lease
        ? kubernetesExclusive(api, { ...options.lease, fleet: options.fleet })
        : undefined,
    }),
    watch: async (owned, onChange, signal) => {
      const open = await api();
      const byAccount = Map.groupBy(owned, (one) => stateOf(one).by ?? '');
      await Promise.all(
        [...byAccount].map(([by, some]) => {
          const refs = some.map((one) => refOf(one.key, stateOf(one).apiVersion));
          return watchOwned(by === '' ? open : open.as(by), refs, onChange, signal);
        }),
      );
    },
  };
};

/**
 * Returns keys of the objects that a package will own, without requests to the cluster. Whether kinds are namespaced is unknown here, so
 * each object has a key with its namespace and one without. @throws FleetError YAML_SYNTAX, OBJECT_INVALID, SITE_VALUES, SECRET_MISSING
 */
const keysWanted = (desired: DesiredPackage): ReadonlySet<string> =>
  new Set(
    readManifests(desired)
      .filter(isOverriding)
      .flatMap(({ apiVersion, kind, name, namespace }) => [
        keyOf({ apiVersion, kind, name, namespace }),
        keyOf({ apiVersion, kind, name }),
      ]),
  );

/** The longest time that the waits of a package may take together: one for each wave, hook and dependency, and one at the end. */
const longestMs = (desired: DesiredPackage, healthTimeoutMs: number): number => {
  const isRuled = desired.objectRules?.some(({ timeout }) => timeout !== undefined) === true;
  if (!isRuled && ![...desired.files.values()].some((bytes) => MAY_WAIT.test(bytes.toString('latin1'))))
    return healthTimeoutMs;
  const policies = readManifests(desired).map(({ policy }) => policy);
  const places = new Set(policies.map(({ order }) => `${order.phase} ${order.wave}`)).size;
  const dependent = policies.filter(({ order }) => order.dependsOn.length > 0).length;
  const each = Math.max(...policies.map(({ timeoutMs }) => timeoutMs ?? 0), healthTimeoutMs);
  return Math.max(1, places + dependent) * each;
};

/** Without one of these annotations a package waits once; most are not parsed for that. */
const MAY_WAIT =
  /fleet-ferry\/(?:timeout|wave|hook|depends-on)|sync-wave|argoproj\.io\/hook|helm\.sh\/hook|io\/depends-on/;

const isOverriding = ({ policy }: Manifest): boolean => policy.apply === 'override';
