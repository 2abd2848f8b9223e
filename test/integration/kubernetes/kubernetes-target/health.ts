import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openClusterAccess } from '../../../../agent/apply/kubernetes/api/cluster-access.ts';
import type { KubernetesApi, LiveObject } from '../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { openKubernetesApi } from '../../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import { groupOf, keyOf } from '../../../../agent/apply/kubernetes/desired/object-key.ts';
import { policyOf } from '../../../../agent/apply/kubernetes/desired/marks.ts';
import type { WantedObject } from '../../../../agent/apply/kubernetes/desired/wanted-object.ts';
import { awaitDefinition } from '../../../../agent/apply/kubernetes/execute/await-definition.ts';
import { settleKubernetes } from '../../../../agent/apply/kubernetes/health/settle-kubernetes.ts';
import { type Clock, systemClock } from '../../../../agent/apply/kubernetes/watch/clock.ts';
import { watchOwned } from '../../../../agent/apply/kubernetes/watch/watch-owned.ts';
import type { CheckResult } from '../../../../agent/model/target.ts';
import { isFleetError } from '../../../../bundles/errors.ts';
import type { OwnCluster } from '../../../harness/kubernetes/cluster.ts';
import { startLineTo } from '../../../harness/kubernetes/line-to-cluster.ts';

const NEVER = new AbortController().signal;

/** A clock that is `factor` times as fast: patience of half a minute is over in seconds. */
const fastClock = (factor: number): Clock => {
  const [start, elapsed] = [Date.now(), performance.now()];
  const passed = () => (performance.now() - elapsed) * factor;
  return {
    now: () => new Date(start + passed()),
    elapsedMs: passed,
    sleep: (ms, signal) => systemClock.sleep(ms / factor, signal),
  };
};

const wantedOf = (object: LiveObject): WantedObject => {
  const { apiVersion, kind, metadata } = object;
  const { name, namespace } = metadata;
  return {
    key: keyOf({ apiVersion, kind, name, namespace }),
    group: groupOf(apiVersion),
    apiVersion,
    kind,
    namespace,
    name,
    object,
    hash: '',
    place: 'app.yaml (document 1)',
    policy: policyOf({}),
  };
};

const deployment = (name: string, more: object = {}, replicas = 2): LiveObject => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'default' },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'api', image: 'shop.example/till:1' }], ...more },
    },
  },
});

const failedOf = (checks: readonly CheckResult[]): readonly string[] =>
  checks.filter(({ outcome }) => outcome === 'failed').map(({ name, message }) => `${name}: ${message}`);

/** Tests of how an agent sees objects become healthy, and what it owns change. */
export const healthOnCluster = (cluster: () => OwnCluster): void => {
  describe('health on a cluster', () => {
    let api: KubernetesApi;

    beforeAll(async () => {
      const access = await openClusterAccess({ kubeconfig: cluster().kubeconfig, context: '' });
      api = openKubernetesApi(access, { patienceMs: 20_000, requestMs: 20_000 });
    });
    afterAll(async () => {
      await api?.close();
    });

    const apply = async (...objects: readonly LiveObject[]): Promise<readonly WantedObject[]> => {
      for (const object of objects) await api.apply(object, { force: true }, NEVER);
      return objects.map(wantedOf);
    };
    const settle = (objects: readonly WantedObject[], timeoutMs = 60_000) =>
      settleKubernetes(api, objects, timeoutMs, NEVER);
    const patchStatus = async (path: string, status: object): Promise<void> => {
      const object = (await cluster().request('GET', path)).body as LiveObject;
      const { status: code } = await cluster().request('PUT', `${path}/status`, { ...object, status });
      expect(code).toBe(200);
    };

    it('waits until the Service of a webhook has a ready endpoint, and names it after the timeout', async () => {
      const name = 'prices';
      const service = { apiVersion: 'v1', kind: 'Service', metadata: { name, namespace: 'default' } };
      const hook = {
        apiVersion: 'admissionregistration.k8s.io/v1',
        kind: 'ValidatingWebhookConfiguration',
        metadata: { name },
        webhooks: [
          {
            name: 'prices.shop.example',
            clientConfig: { service: { namespace: 'default', name } },
            rules: [
              { apiGroups: ['none.example'], apiVersions: ['v1'], operations: ['*'], resources: ['*'] },
            ],
            sideEffects: 'None',
            admissionReviewVersions: ['v1'],
          },
        ],
      };
      const objects = await apply(
        { ...service, spec: { selector: { app: name }, ports: [{ port: 443 }] } },
        hook,
      );
      expect(failedOf(await settle(objects, 3000)).join()).toMatch(
        /WebhookConfiguration prices: Service default\/prices of its webhook prices\.shop\.example has no ready endpoint/,
      );
      const all = [...objects, ...(await apply(deployment(name)))];
      expect(failedOf(await settle(all))).toEqual([]);
    });

    it('waits for a Deployment to be available, and counts objects without a status as healthy', async () => {
      const objects = await apply(deployment('shop'), {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'shop', namespace: 'default' },
        data: { a: 'b' },
      });
      expect(await settle(objects)).toEqual([
        { name: 'objects', outcome: 'passed', message: '2 objects healthy' },
      ]);
      // A second generation is waited for as the first one was.
      const again = await apply(deployment('shop', { terminationGracePeriodSeconds: 1 }, 3));
      expect(failedOf(await settle(again))).toEqual([]);
      const live = await api.read(
        { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'default', name: 'shop' },
        NEVER,
      );
      expect(live?.['status']).toMatchObject({ updatedReplicas: 3, availableReplicas: 3 });
    });

    // These mostly wait, each for objects of its own, so they wait at the same time.
    it.concurrent('reports after its timeout what is unfinished, with the last event', async ({ expect }) => {
      const objects = await apply(deployment('slow', { nodeSelector: { disk: 'none' } }, 1));
      const [said] = failedOf(await settle(objects, 8000));
      expect(said).toMatch(
        /^Deployment default\/slow: .*\(InProgress after 8 s\); last event: FailedScheduling: 0\/1/,
      );
    });

    it.concurrent('names a quota that prevents pods', async ({ expect }) => {
      await api.create({ apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'small' } }, NEVER);
      const quota = {
        apiVersion: 'v1',
        kind: 'ResourceQuota',
        metadata: { name: 'none', namespace: 'small' },
      };
      await api.apply({ ...quota, spec: { hard: { pods: '0' } } }, { force: true }, NEVER);
      const stuck = deployment('till');
      const objects = await apply({ ...stuck, metadata: { name: 'till', namespace: 'small' } });
      const [said] = failedOf(await settle(objects, 6000));
      expect(said).toMatch(/0 of 2 replicas created: FailedCreate: .*exceeded quota/);
    });

    it.concurrent('fails by an unschedulable pod, by its image and by its crash', async ({ expect }) => {
      const broken = await apply(deployment('crash', {}, 1), deployment('image', {}, 1));
      expect(failedOf(await settle(broken))).toEqual([]);
      // Fake nodes accept every image, and their pods never end. The test writes the status that a kubelet would write; nothing overwrites it.
      const { items } = await api.list({ apiVersion: 'v1', kind: 'Pod' }, { namespace: 'default' }, NEVER);
      const image = 'Container image "shop.example/till:1" is not present';
      for (const { metadata, status } of items) {
        const isCrash = metadata.name.startsWith('crash-');
        if (!isCrash && !metadata.name.startsWith('image-')) continue;
        const waiting = isCrash
          ? { reason: 'CrashLoopBackOff', message: 'back-off 20s restarting failed container' }
          : { reason: 'ErrImageNeverPull', message: image };
        const container = { name: 'api', image: 'shop.example/till:1', imageID: '', ready: false };
        const ended = { lastState: { terminated: { exitCode: 3, reason: 'Error' } }, restartCount: 2 };
        await patchStatus(`/api/v1/namespaces/default/pods/${metadata.name}`, {
          ...(status as object),
          conditions: [
            { type: 'PodScheduled', status: 'True' },
            { type: 'Ready', status: 'False', reason: 'ContainersNotReady' },
          ],
          containerStatuses: [{ ...container, restartCount: 0, ...(isCrash && ended), state: { waiting } }],
        });
      }
      const stuck = await apply(deployment('stuck', { nodeSelector: { disk: 'none' } }, 1));
      const names = new Set(['crash', 'image', 'stuck']);
      const unavailable = async (): Promise<number> => {
        const type = { apiVersion: 'apps/v1', kind: 'Deployment' };
        const list = await api.list(type, { namespace: 'default' }, NEVER);
        return list.items.filter(
          (one) =>
            names.has(one.metadata.name) &&
            (one['status'] as { unavailableReplicas?: number }).unavailableReplicas === 1,
        ).length;
      };
      await expect.poll(unavailable).toBe(3);
      const begin = Date.now();
      const clock = fastClock(6);
      const said = failedOf(await settleKubernetes(api, [...broken, ...stuck], 90_000, NEVER, { clock }));
      expect(said[0]).toMatch(
        /^Deployment default\/crash: 0 of 1 replica available; pod crash-\S+: container api: CrashLoopBackOff, exit code 3, 2 restarts$/,
      );
      expect(said[1]).toMatch(
        /^Deployment default\/image: 0 of 1 replica available; pod image-\S+: container api: ErrImageNeverPull: Container image "shop.example\/till:1" is not present$/,
      );
      expect(said[2]).toMatch(
        /^Deployment default\/stuck: 0 of 1 replica available; pod stuck-\S+: Unschedulable: 0\/1 nodes/,
      );
      expect(said).toHaveLength(3);
      expect(Date.now() - begin).toBeLessThan(75_000);
    });

    it.concurrent('fails a Job when it failed, and passes with one that its TTL removed', async ({
      expect,
    }) => {
      const job = (name: string, spec: object): LiveObject => ({
        apiVersion: 'batch/v1',
        kind: 'Job',
        metadata: { name, namespace: 'default' },
        spec: {
          ...spec,
          template: {
            spec: {
              restartPolicy: 'Never',
              nodeSelector: { disk: 'none' },
              containers: [{ name: 'run', image: 'x' }],
            },
          },
        },
      });
      const begin = Date.now();
      const failing = await apply(job('late', { activeDeadlineSeconds: 2 }));
      expect(failedOf(await settle(failing))).toEqual([
        'Job default/late: DeadlineExceeded: Job was active longer than specified deadline',
      ]);
      expect(Date.now() - begin).toBeLessThan(50_000);
      const brief = await apply(
        job('brief', {
          ttlSecondsAfterFinished: 1,
          activeDeadlineSeconds: 600,
          parallelism: 0,
          completions: 0,
        }),
      );
      expect(failedOf(await settle(brief))).toEqual([]);
    });

    it.concurrent('waits for a definition, then for its resources by their conditions', async ({
      expect,
    }) => {
      const definition: LiveObject = {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: 'tills.shop.example' },
        spec: {
          group: 'shop.example',
          scope: 'Namespaced',
          names: { plural: 'tills', singular: 'till', kind: 'Till' },
          versions: [
            {
              name: 'v1',
              served: true,
              storage: true,
              subresources: { status: {} },
              schema: {
                openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true },
              },
            },
          ],
        },
      };
      const defined = await apply(definition);
      await awaitDefinition(api, definition, 30_000, NEVER);
      expect(failedOf(await settle(defined))).toEqual([]);
      const till: LiveObject = {
        apiVersion: 'shop.example/v1',
        kind: 'Till',
        metadata: { name: 'four', namespace: 'default' },
        spec: { drawer: 4 },
      };
      const objects = await apply(till);
      const checks = settle(objects, 30_000);
      await new Promise((resolve) => setTimeout(resolve, 2000));
      const path = '/apis/shop.example/v1/namespaces/default/tills/four';
      const ready = (status: string) => ({
        conditions: [{ type: 'Ready', status, reason: 'Opening', message: 'counting' }],
      });
      await patchStatus(path, ready('False'));
      const still = new Promise((resolve) => setTimeout(resolve, 5000, 'still waiting'));
      expect(await Promise.race([checks, still])).toBe('still waiting');
      await patchStatus(path, ready('True'));
      expect(failedOf(await checks)).toEqual([]);
    });

    it('survives an outage while it waits, and fails no package by a long one', async () => {
      const objects = await apply(
        deployment('patient', { schedulingGates: [{ name: 'shop.example/hold' }] }, 1),
        deployment('lonely', { nodeSelector: { disk: 'none' } }, 1),
      );
      await using line = await startLineTo(cluster());
      const access = await openClusterAccess({ kubeconfig: line.kubeconfig, context: '' });
      const brief = openKubernetesApi(access, { patienceMs: 1000, requestMs: 5000 });
      const long = openKubernetesApi(access, { patienceMs: 20_000, requestMs: 20_000 });
      const patient = settleKubernetes(long, objects.slice(0, 1), 60_000, NEVER);
      const impatient = settleKubernetes(brief, objects.slice(1), 60_000, NEVER, { outageMs: 4000 });
      await new Promise((resolve) => setTimeout(resolve, 2500));
      line.set('down');
      await expect(impatient).rejects.toSatisfy(
        (error) => isFleetError(error, 'API_UNREACHABLE') && error.retryable,
      );
      line.set('whole');
      await apply(deployment('patient', {}, 1));
      expect(failedOf(await patient)).toEqual([]);
      await brief.close();
      await long.close();
    });

    describe('watching owned objects', () => {
      const config = (name: string, value: string): LiveObject => ({
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name, namespace: 'default' },
        data: { value },
      });
      const ask = async (method: string, path: string, body?: object): Promise<void> => {
        const answer = await cluster().request(method, path, body);
        expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      };
      const maps = '/api/v1/namespaces/default/configmaps';
      const scaled = '/apis/apps/v1/namespaces/default/deployments/owned/scale';

      it('reports edits and deletions, over a restart and a compaction, and nothing else', async () => {
        const owned = await apply(config('one', 'a'), config('two', 'a'), deployment('owned', {}, 1));
        await settle(owned);
        const told: string[] = [];
        const controller = new AbortController();
        const watching = watchOwned(api, owned, (keys) => void told.push(...keys), controller.signal);
        const tells = (...keys: readonly string[]) => expect.poll(() => told).toEqual(keys);
        await new Promise((resolve) => setTimeout(resolve, 1500));

        // A status, an annotation beside ours, a scale through a field that we own only in name, our own apply.
        await ask('PATCH', `${maps}/one`, { metadata: { annotations: { note: 'by-hand' } } });
        await apply(config('two', 'b'));
        await ask('DELETE', '/api/v1/namespaces/default/pods?labelSelector=app%3Downed');
        await new Promise((resolve) => setTimeout(resolve, 2500));
        expect(told).toEqual([]);

        await ask('PATCH', `${maps}/one`, { data: { value: 'theirs' } });
        await tells('/ConfigMap/default/one');
        await ask('PATCH', scaled, { spec: { replicas: 4 } });
        await tells('/ConfigMap/default/one', 'apps/Deployment/default/owned');

        await cluster().killApiServer();
        await cluster().startApiServer();
        // What was known before is too old for the server now.
        const from = { namespace: 'default', resourceVersion: '1' };
        const again = api.watch({ apiVersion: 'v1', kind: 'ConfigMap' }, from, NEVER)[Symbol.asyncIterator]();
        expect((await again.next()).value).toEqual({ type: 'expired' });
        await ask('DELETE', `${maps}/two`);
        await tells('/ConfigMap/default/one', 'apps/Deployment/default/owned', '/ConfigMap/default/two');
        await apply(config('two', 'c'));
        controller.abort();
        await watching;
      });
    });
  });
};
