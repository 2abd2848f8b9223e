import { setTimeout as sleep } from 'node:timers/promises';
import { describe, it } from 'vitest';
import { openClusterAccess } from '../../../../agent/apply/kubernetes/api/cluster-access.ts';
import { openKubernetesApi } from '../../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import { reconcile } from '../../../../agent/apply/reconcile.ts';
import { lookAtDrift, observe } from '../../../../agent/observe/observe.ts';
import { makeAllDue } from '../../../../agent/store/applied/attempts.ts';
import { findPackage } from '../../../../agent/store/applied/packages.ts';
import { openOperation } from '../../../../agent/store/journal/operations.ts';
import { createSite, pack } from '../../../agent/apply/kubernetes/kubernetes-site.ts';
import type { OwnCluster } from '../../../harness/kubernetes/cluster.ts';
import { targetOf } from './cluster-in-trouble.ts';

const signal = new AbortController().signal;

type Version = { readonly name: string; readonly storage: boolean };

/** A definition of a kind in group `<plural>.example`. */
const definition = (
  plural: string,
  kind: string,
  versions: readonly Version[],
  more: object = {},
): string => {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  return `${JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${plural}.example`, annotations: { 'fleet-ferry/force': 'enabled' } },
    spec: {
      group: `${plural}.example`,
      scope: 'Namespaced',
      names: { plural, singular: kind.toLowerCase(), kind },
      versions: versions.map((version) => ({ ...version, served: true, schema })),
      ...more,
    },
  })}\n---\n`;
};
const custom = (apiVersion: string, kind: string, text: string): string =>
  `apiVersion: ${apiVersion}\nkind: ${kind}\nmetadata: {name: one, namespace: default, annotations: {fleet-ferry/wait: disabled}}\ntext: ${text}\n---\n`;
const configMap = (name: string, text: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: default}\ndata: {text: ${text}}\n---\n`;

/** A Deployment that fails after a second, because no node takes its pod. */
const NEVER_UP = `apiVersion: apps/v1
kind: Deployment
metadata: {name: never, namespace: default}
spec:
  progressDeadlineSeconds: 1
  selector: {matchLabels: {app: never}}
  template:
    metadata: {labels: {app: never}}
    spec: {nodeSelector: {no: where}, containers: [{name: a, image: a}]}
`;

/** Faults that other engines report from clusters in use. */
export const incidentsOnCluster = (cluster: () => OwnCluster): void => {
  const target = () => targetOf(cluster().kubeconfig);

  describe('a cluster in use', () => {
    it.concurrent('does not run a Job again that its TTL removed, until it changes', async ({ expect }) => {
      await using site = await createSite(target());
      const job = (label: string): string =>
        `apiVersion: batch/v1
kind: Job
metadata: {name: migrate, namespace: default, labels: {v: ${label}}}
spec:
  {ttlSecondsAfterFinished: 0, parallelism: 0, completions: 0, template: {spec: {restartPolicy: Never, containers: [{name: a, image: a}]}}}
---
`;
      const path = '/apis/batch/v1/namespaces/default/jobs/migrate';
      const isGone = async () => (await cluster().request('GET', path)).status === 404;
      expect(await site.release([pack('jobs', job('a'))])).toMatchObject([{ outcome: 'created' }]);
      await expect.poll(isGone, { timeout: 20_000 }).toBe(true);
      expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
      const events = site.events().length;
      expect(await site.release([pack('jobs', `${job('a')}${configMap('beside-job', 'x')}`)])).toMatchObject([
        { outcome: 'configured' },
      ]);
      await observe(site.agent);
      expect(site.events()).toHaveLength(events + 1);
      expect(JSON.stringify(site.events().at(-1)?.detail)).not.toContain('migrate');
      await site.release([pack('jobs', job('b'))]);
      expect(JSON.stringify(site.events().at(-1)?.detail)).toContain('batch/Job/default/migrate');
    });

    it.concurrent('leaves replicas to an autoscaler, also in releases, and takes them back without one', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const path = '/apis/apps/v1/namespaces/default/deployments/scaled';
      const yaml = (label: string): string => `apiVersion: apps/v1
kind: Deployment
metadata: {name: scaled, namespace: default, labels: {v: ${label}}}
spec:
  replicas: 1
  selector: {matchLabels: {app: scaled}}
  template: {metadata: {labels: {app: scaled}}, spec: {containers: [{name: a, image: a}]}}
---
`;
      const autoscaler = `apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: scaled, namespace: default, annotations: {fleet-ferry/wait: disabled}}
spec: {minReplicas: 1, maxReplicas: 9, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: scaled}}
`;
      const replicas = async () => (await cluster().request('GET', path)).body;
      const isScaledTo = (count: number) =>
        expect.objectContaining({ spec: expect.objectContaining({ replicas: count }) });
      const scaleTo = async (count: number, manager: string) => {
        const scale = { spec: { replicas: count } };
        const { status } = await cluster().request('PATCH', `${path}/scale?fieldManager=${manager}`, scale);
        expect(status).toBe(200);
      };
      await site.release([pack('scaled', `${yaml('a')}${autoscaler}`)]);
      await scaleTo(3, 'kube-controller-manager');
      expect(await observe(site.agent)).toEqual([{ assignment: 'scaled', drift: [] }]);
      expect(await site.release([pack('scaled', `${yaml('b')}${autoscaler}`)])).toMatchObject([
        { outcome: 'configured' },
      ]);
      expect(await replicas()).toEqual(isScaledTo(3));
      expect(await replicas()).toMatchObject({ metadata: { labels: { v: 'b' } } });
      await scaleTo(4, 'kube-controller-manager');
      expect(await observe(site.agent)).toEqual([{ assignment: 'scaled', drift: [] }]);
      await scaleTo(2, 'kubectl');
      expect(await observe(site.agent)).toMatchObject([{ corrected: true }]);
      expect(await replicas()).toEqual(isScaledTo(1));
      await scaleTo(5, 'kube-controller-manager');
      await site.release([pack('scaled', yaml('b'))]);
      expect(await observe(site.agent)).toMatchObject([{ corrected: true }]);
      expect(await replicas()).toEqual(isScaledTo(1));
    });

    it.concurrent('applies the status of a kind without that subresource, and judges it by conditions', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const crd = definition('shifts', 'Shift', [{ name: 'v1', storage: true }]);
      const shift = `apiVersion: shifts.example/v1\nkind: Shift\nmetadata: {name: night, namespace: default}\nstatus: {open: yes}\nspec: {a: b}\n---\n`;
      const path = '/apis/shifts.example/v1/namespaces/default/shifts/night';
      const live = async () =>
        (await cluster().request('GET', path)).body as { metadata: { generation: number } };
      const conditions = [{ type: 'Ready', status: 'True', reason: 'Ok', message: 'it is staffed' }];
      const ends = new AbortController();
      // Its controller writes what it has seen, which makes the next generation.
      const controller = (async () => {
        for (; !ends.signal.aborted; await sleep(100)) {
          const { metadata } = await live();
          const said = { status: { observedGeneration: metadata?.generation, conditions } };
          if (metadata?.generation === 1)
            await cluster().request('PATCH', `${path}?fieldManager=clock`, said);
        }
      })();
      expect(await site.release([pack('shift', `${crd}${shift}`)])).toMatchObject([{ outcome: 'created' }]);
      ends.abort();
      await controller;
      expect(await live()).toMatchObject({
        metadata: { generation: 2 },
        status: { open: 'yes', observedGeneration: 1 },
      });
      expect(await observe(site.agent)).toEqual([{ assignment: 'shift', drift: [] }]);
      await cluster().request('PATCH', `${path}?fieldManager=clock`, { status: { open: 'no' } });
      expect(await observe(site.agent)).toMatchObject([
        { corrected: true, drift: [{ message: expect.stringContaining('status.open differs') }] },
      ]);
      expect(await live()).toMatchObject({ status: { open: 'yes', observedGeneration: 1 } });
    });

    it.concurrent('recreates a StatefulSet with other claims without touching its pods, and names the claims that stay (R3)', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const yaml = (size: string): string => `apiVersion: apps/v1
kind: StatefulSet
metadata: {name: store, namespace: default, annotations: {fleet-ferry/force: enabled, fleet-ferry/wait: disabled}}
spec:
  serviceName: store
  persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}
  selector: {matchLabels: {app: store}}
  template: {metadata: {labels: {app: store}}, spec: {containers: [{name: a, image: a}]}}
  volumeClaimTemplates:
    - metadata: {name: data}
      spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: ${size}}}}
`;
      const core = '/api/v1/namespaces/default';
      const uids = async () => {
        const found = await Promise.all(
          [`${core}/pods/store-0`, `${core}/persistentvolumeclaims/data-store-0`].map((path) =>
            cluster().request('GET', path),
          ),
        );
        return found.map(({ body }) => (body as { metadata?: { uid?: string } }).metadata?.uid);
      };
      await site.release([pack('store', yaml('1Gi'))]);
      await expect.poll(uids, { timeout: 20_000 }).toEqual([expect.any(String), expect.any(String)]);
      const before = await uids();
      expect(await site.release([pack('store', yaml('2Gi'))])).toMatchObject([{ outcome: 'configured' }]);
      const owned = async () => (await cluster().request('GET', `${core}/pods/store-0`)).body;
      const { body } = await cluster().request('GET', '/apis/apps/v1/namespaces/default/statefulsets/store');
      const { uid } = (body as { metadata: { uid: string } }).metadata;
      await expect
        .poll(owned, { timeout: 20_000 })
        .toMatchObject({ metadata: { ownerReferences: [{ kind: 'StatefulSet', uid }] } });
      expect(await uids()).toEqual(before);
      expect(JSON.stringify(site.events().at(-1)?.detail)).toContain('claims that exist stay as they are');
    });

    it.concurrent('applies a custom resource automatically once another package brought its definition', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const packages = [
        pack('a-user', custom('lasts.example/v1', 'Last', 'x')),
        pack('b-operator', definition('lasts', 'Last', [{ name: 'v1', storage: true }])),
      ];
      expect(await site.release(packages)).toMatchObject([
        { assignment: 'a-user', outcome: 'failed', code: 'CLUSTER_LACKS' },
        { assignment: 'b-operator', outcome: 'created' },
      ]);
      makeAllDue(site.agent.state, site.agent.edge.now());
      expect(await reconcile(site.agent)).toMatchObject([{ assignment: 'a-user', outcome: 'created' }]);
    });

    it.concurrent('finds nothing of a kind whose definition was removed with all its objects', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const api = openKubernetesApi(
        await openClusterAccess({ kubeconfig: cluster().kubeconfig, context: '' }),
        { patienceMs: 500, requestMs: 10_000 },
      );
      const crd = definition('lamps', 'Lamp', [{ name: 'v1', storage: true }]);
      await site.release([pack('lamps', `${crd}${custom('lamps.example/v1', 'Lamp', 'x')}`)]);
      const type = { apiVersion: 'lamps.example/v1', kind: 'Lamp' };
      expect((await api.list(type, {}, signal)).items).toHaveLength(1);
      const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/lamps.lamps.example';
      await cluster().request('DELETE', path);
      await expect
        .poll(async () => (await cluster().request('GET', path)).status, { timeout: 20_000 })
        .toBe(404);
      expect(await api.list(type, {}, signal)).toEqual({ items: [], resourceVersion: '0' });
      await api.close();
      expect(await observe(site.agent)).toMatchObject([{ assignment: 'lamps', corrected: true }]);
      expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
    });

    it.concurrent('applies other packages and releases while a conversion webhook is down', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const versions = [
        { name: 'v1', storage: true },
        { name: 'v2', storage: false },
      ];
      const conversion = {
        strategy: 'Webhook',
        webhook: { conversionReviewVersions: ['v1'], clientConfig: { url: 'https://127.0.0.1:9/' } },
      };
      const beside = pack('up', configMap('up', 'x'));
      const tills = (more: object, version: string): string =>
        `${definition('tills', 'Till', versions, more)}${custom(`tills.example/${version}`, 'Till', version)}`;
      expect(await site.release([pack('tills', tills({}, 'v1'))])).toMatchObject([{ outcome: 'created' }]);
      const [failed, other] = await site.release([pack('tills', tills({ conversion }, 'v2')), beside]);
      expect(failed).toMatchObject({ outcome: 'failed', code: 'WEBHOOK_UNREACHABLE', rolledBack: true });
      expect(failed?.message).toContain('conversion webhook for tills.example/v1, Kind=Till');
      expect(other).toMatchObject({ assignment: 'up', outcome: 'created' });
      expect(openOperation(site.agent.state)).toBeUndefined();
      expect(await site.release([pack('tills', tills({}, 'v2')), beside])).toMatchObject([
        { assignment: 'tills', outcome: 'configured' },
      ]);
    });

    it.concurrent('rolls back the other objects of a package whose definition has stored objects of a new version', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const one = [{ name: 'v1', storage: true }];
      const two = [
        { name: 'v1', storage: false },
        { name: 'v2', storage: true },
      ];
      const yaml = (versions: readonly Version[], text: string): string =>
        `${definition('belts', 'Belt', versions)}${configMap('belt', text)}`;
      await site.release([pack('belts', yaml(one, 'old'))]);
      const [failed] = await site.release([pack('belts', `${yaml(two, 'new')}${NEVER_UP}`)]);
      expect(failed).toMatchObject({ outcome: 'failed', code: 'CHECK_FAILED', rolledBack: true });
      const belt = await cluster().request('GET', '/api/v1/namespaces/default/configmaps/belt');
      expect(belt.body).toMatchObject({ data: { text: 'old' } });
      expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
    });

    it.concurrent('removes an object whose version its definition has lost since the agent asked for the kinds', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const name = 'hoists.hoists.example';
      const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
      const versions = [
        { name: 'v1', storage: false },
        { name: 'v2', storage: true },
      ];
      const definitions = definition('hoists', 'Hoist', versions).replace('\n---\n', '');
      expect((await cluster().request('POST', path, JSON.parse(definitions) as object)).status).toBe(201);
      const hoists = (version: string): string => `/apis/hoists.example/${version}/namespaces/default/hoists`;
      const isServed = async (version: string): Promise<boolean> =>
        (await cluster().request('GET', hoists(version))).status === 200;
      await expect.poll(() => isServed('v1'), { timeout: 20_000 }).toBe(true);
      await site.release([pack('hoists', custom('hoists.example/v1', 'Hoist', 'x'))]);
      const { body } = await cluster().request('GET', `${path}/${name}`);
      const live = body as { spec: { versions: { served: boolean }[] } };
      live.spec.versions = live.spec.versions.map((version, at) => ({ ...version, served: at > 0 }));
      expect((await cluster().request('PUT', `${path}/${name}`, live)).status).toBe(200);
      await expect.poll(() => isServed('v1'), { timeout: 20_000 }).toBe(false);
      expect(await site.release([])).toMatchObject([{ outcome: 'deleted' }]);
      expect((await cluster().request('GET', `${hoists('v2')}/one`)).status).toBe(404);
    });

    it.concurrent('applies an object whose field managers are recorded in a version that its definition lost (S9)', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const name = 'cranes.cranes.example';
      const both = [
        { name: 'v1', storage: false },
        { name: 'v2', storage: true },
      ];
      const crane = (version: string, spec: string): string =>
        `apiVersion: cranes.example/${version}\nkind: Crane\nmetadata: {name: one, namespace: default, annotations: {fleet-ferry/wait: disabled}}\nspec: ${spec}\n---\n`;
      const cranes = (version: string): string =>
        `/apis/cranes.example/${version}/namespaces/default/cranes/one`;
      const release = (versions: readonly Version[], object: string) =>
        site.release([pack('cranes', `${definition('cranes', 'Crane', versions)}${object}`)]);
      await release(both, crane('v1', '{load: a, sway: b}'));
      const other = await cluster().request('PATCH', `${cranes('v1')}?fieldManager=other`, {
        spec: { seen: 'x' },
      });
      expect(other.status).toBe(200);
      const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${name}`;
      const { body } = await cluster().request('GET', path);
      const migrated = {
        ...(body as object),
        status: { ...(body as { status: object }).status, storedVersions: ['v2'] },
      };
      expect((await cluster().request('PUT', `${path}/status`, migrated)).status).toBe(200);
      const newest = both.slice(1);
      expect(await release(newest, crane('v2', '{load: a}'))).toMatchObject([{ outcome: 'configured' }]);
      const live = async () =>
        (await cluster().request('GET', cranes('v2'))).body as {
          spec: object;
          metadata: { managedFields: { manager: string; apiVersion: string }[] };
        };
      expect((await live()).spec).toEqual({ load: 'a', seen: 'x' });
      expect((await live()).metadata.managedFields).toMatchObject(
        ['fleet-agent', 'other'].map((manager) => ({ manager, apiVersion: 'cranes.example/v2' })),
      );
      expect(await observe(site.agent)).toEqual([{ assignment: 'cranes', drift: [] }]);
    });

    it.concurrent('keeps a definition and its objects when only the definition may be recreated', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const v1 = [{ name: 'v1', storage: true }];
      await site.release([pack('valves', definition('valves', 'Valve', v1))]);
      const path = '/apis/valves.example/v1/namespaces/default/valves';
      const theirs = { apiVersion: 'valves.example/v1', kind: 'Valve', metadata: { name: 'theirs' } };
      expect((await cluster().request('POST', path, theirs)).status).toBe(201);
      const [refused] = await site.release([
        pack('valves', definition('valves', 'Valve', v1, { scope: 'Cluster' })),
      ]);
      expect(refused).toMatchObject({
        outcome: 'failed',
        code: 'API_REFUSED',
        message: expect.stringContaining('fleet-ferry/force: with-contents'),
      });
      expect((await cluster().request('GET', `${path}/theirs`)).status).toBe(200);
      expect(findPackage(site.agent.state, 'valves')).toMatchObject({ status: 'failed' });
    });
  });
};
