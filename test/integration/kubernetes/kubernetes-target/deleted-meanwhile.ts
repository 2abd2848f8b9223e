import { dirname } from 'node:path';
import { describe, it } from 'vitest';
import { openClusterAccess } from '../../../../agent/apply/kubernetes/api/cluster-access.ts';
import { openKubernetesApi } from '../../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import { kubernetesTarget } from '../../../../agent/apply/kubernetes/kubernetes-target.ts';
import { resume } from '../../../../agent/apply/perform.ts';
import { reconcile } from '../../../../agent/apply/reconcile.ts';
import type { Target } from '../../../../agent/model/target.ts';
import { lookAtDrift } from '../../../../agent/observe/observe.ts';
import { findFailure } from '../../../../agent/store/applied/failures.ts';
import { readOwned } from '../../../../agent/store/applied/inventory.ts';
import { findPackage } from '../../../../agent/store/applied/packages.ts';
import { lastOperations } from '../../../../agent/store/journal/operations.ts';
import {
  copiesIn,
  createSite,
  FLEET,
  type KubernetesSite,
  openSite,
  pack,
} from '../../../agent/apply/kubernetes/kubernetes-site.ts';
import type { OwnCluster } from '../../../harness/kubernetes/cluster.ts';

const map = (name: string, wave: number, text = 'x'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: default, annotations: {fleet-ferry/wave: "${wave}"}}\ndata: {text: ${text}}\n---\n`;

const workload = (name: string): string => `apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, namespace: default}
spec:
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec: {containers: [{name: a, image: a}]}
---
`;

/** Objects that somebody deletes while the agent waits for health. */
export const deletedMeanwhileOnCluster = (cluster: () => OwnCluster): void => {
  const target = (): Target =>
    kubernetesTarget({
      open: async () =>
        openKubernetesApi(await openClusterAccess({ kubeconfig: cluster().kubeconfig, context: '' }), {
          patienceMs: 500,
          requestMs: 10_000,
        }),
      fleet: FLEET,
      // A missing object counts as failed at the end of this time.
      healthTimeoutMs: 4000,
      stepTimeoutMs: 10_000,
      adopt: 'ifUnowned',
      copies: copiesIn(dirname(cluster().kubeconfig)),
    });
  const workloads = '/apis/apps/v1/namespaces/default/deployments';
  const maps = '/api/v1/namespaces/default/configmaps';
  const remove = (path: string) => cluster().request('DELETE', path);
  const isThere = async (path: string): Promise<boolean> =>
    (await cluster().request('GET', path)).status === 200;
  /** Deletes an object as a wait begins. @param times how often; @param waits the kind of the wait */
  const deleting = (path: string, times: number, waits: 'await' | 'settle'): Target => {
    const real = target();
    let left = times;
    const onWait = async (kind: string): Promise<void> => {
      if (kind !== waits || left === 0) return;
      left -= 1;
      await remove(path);
    };
    return {
      ...real,
      execute: async (step, desired, signal) => {
        await onWait(step.kind);
        return real.execute(step, desired, signal);
      },
      settle: async (desired, signal) => {
        await onWait('settle');
        return real.settle(desired, signal);
      },
    };
  };
  const told = (site: KubernetesSite) =>
    site
      .events()
      .filter(({ type }) => type !== 'check')
      .map(({ type, outcome, message = '' }) => ({ type, outcome, message }));

  describe('an object that somebody deletes while it is waited for', () => {
    it.concurrent.for(['await', 'settle'] as const)(
      'is applied again in the same operation (%s)',
      async (waits, { expect }) => {
        const name = `vanishes-in-${waits}`;
        // So many of one kind are read by a list.
        const beside = [1, 2, 3, 4].map((number) => workload(`${name}-${number}`)).join('');
        await using site = await createSite(deleting(`${workloads}/${name}`, 1, waits));
        expect(
          await site.release([pack(name, `${workload(name)}${beside}${map(`${name}-late`, 1)}`)]),
        ).toEqual([{ assignment: name, outcome: 'created' }]);
        for (const path of [`${workloads}/${name}`, `${maps}/${name}-late`])
          expect(await isThere(path), path).toBe(true);
        expect(told(site)).toMatchObject([{ type: 'package', outcome: 'created' }]);
        expect(JSON.stringify(site.events()[0]?.detail)).toContain(
          `apps/Deployment/default/${name} was deleted meanwhile`,
        );
        expect(lastOperations(site.agent.state, 9)).toMatchObject([{ outcome: 'kept', rollingBack: false }]);
        expect(await lookAtDrift(site.agent)).toEqual([{ assignment: name, drift: [] }]);
        expect(readOwned(site.agent.state, name)).toHaveLength(6);
      },
    );

    it.concurrent('is given up after a few times, with the reason, and the version before runs again', async ({
      expect,
    }) => {
      const path = `${workloads}/fought-away`;
      await using site = await createSite(target());
      const release = (text: string) =>
        site.release([pack('fought-away', `${workload('fought-away')}${map('fought-late', 1, text)}`)]);
      await release('a');
      Object.assign(site.agent, { targets: [deleting(path, Number.POSITIVE_INFINITY, 'await')] });
      const begin = (await cluster().readAudit()).length;
      expect(await release('b')).toMatchObject([
        {
          code: 'CHECK_FAILED',
          rolledBack: true,
          message: expect.stringMatching(
            /Deployment default\/fought-away: it is not there any more.*; deleted 4 times/,
          ),
        },
      ]);
      expect(findPackage(site.agent.state, 'fought-away')).toMatchObject({ status: 'failed' });
      const { desired } = findPackage(site.agent.state, 'fought-away') ?? {};
      expect(desired && findFailure(site.agent.state, 'fought-away', desired)).toBeDefined();
      const made = (await cluster().readAudit())
        .slice(begin)
        .filter(({ verb, objectRef }) => verb === 'delete' && objectRef?.name === 'fought-away');
      expect(made).toHaveLength(4);
      expect(await isThere(path)).toBe(true);
    }, 120_000);

    it.concurrent('is applied again after a kill at any point of that', async ({ expect }) => {
      const path = `${workloads}/killed-away`;
      const packages = [pack('killed-away', `${workload('killed-away')}${map('killed-late', 1)}`)];
      await using site = await createSite(target());
      await site.want(packages);
      const deletes = deleting(path, 1, 'await');
      /** One process, killed at the first point after those of the others. */
      const seen = new Set<string>();
      let killed = true;
      while (killed) {
        const stop = new AbortController();
        killed = false;
        await using run = openSite(
          site.folder,
          deletes,
          {},
          {
            signal: stop.signal,
            onJournal: (point) => {
              if (seen.has(point)) return;
              seen.add(point);
              killed = true;
              stop.abort(new Error('killed'));
            },
          },
        );
        const walk = async (): Promise<void> => {
          await resume(run.agent);
          await reconcile(run.agent);
        };
        await walk().catch((error: { code?: string }) => expect(error.code).toBe('ABORTED'));
      }
      expect([...seen].filter((point) => point.includes('planned again'))).toHaveLength(1);
      for (const one of [path, `${maps}/killed-late`]) expect(await isThere(one), one).toBe(true);
      expect(told(site)).toMatchObject([{ type: 'package', outcome: 'created' }]);
      expect(await lookAtDrift(site.agent)).toEqual([{ assignment: 'killed-away', drift: [] }]);
    }, 120_000);
  });
};
