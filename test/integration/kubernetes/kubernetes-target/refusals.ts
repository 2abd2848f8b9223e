import { setTimeout as sleep } from 'node:timers/promises';
import { describe, it } from 'vitest';
import { makeAllDue } from '../../../../agent/store/applied/attempts.ts';
import { reconcile } from '../../../../agent/apply/reconcile.ts';
import { observe } from '../../../../agent/observe/observe.ts';
import { createSite, type KubernetesSite, pack } from '../../../agent/apply/kubernetes/kubernetes-site.ts';
import type { OwnCluster } from '../../../harness/kubernetes/cluster.ts';
import { targetOf } from './cluster-in-trouble.ts';

const core = '/api/v1/namespaces/default';
const configMap = (name: string, text: string): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: default}\ndata: {text: ${text}}\n---\n`;

/** A kind of which a gauge only grows and keeps its name, in words of its author. */
const GAUGES = `${JSON.stringify({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'gauges.gauges.example' },
  spec: {
    group: 'gauges.example',
    scope: 'Namespaced',
    names: { plural: 'gauges', singular: 'gauge', kind: 'Gauge' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: {
                  size: {
                    type: 'integer',
                    'x-kubernetes-validations': [{ rule: 'self >= oldSelf', message: 'a gauge only grows' }],
                  },
                  name: {
                    type: 'string',
                    'x-kubernetes-validations': [
                      { rule: 'self == oldSelf', message: 'baptised once' },
                      { rule: "self != 'nobody'", message: 'give it a name' },
                    ],
                  },
                  unit: { type: 'string' },
                },
              },
            },
          },
        },
      },
    ],
  },
})}\n---\n`;

/** Tests of what the server refuses, judged by its fields and not by the words of an author. */
export const refusalsOnCluster = (cluster: () => OwnCluster): void => {
  const target = () => targetOf(cluster().kubeconfig);
  const again = ({ agent }: KubernetesSite) => {
    makeAllDue(agent.state, agent.edge.now());
    return reconcile(agent);
  };
  const get = async (path: string) => (await cluster().request('GET', path)).body;
  const patch = async (path: string, change: object): Promise<void> => {
    await cluster().request('PATCH', `${path}?fieldManager=kubectl-patch`, change);
  };

  describe('refusals of the server', () => {
    it.concurrent('lead to a recreation when a rule of the definition forbids the change, and only with force: enabled', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const gauge = (spec: string, annotations = '{fleet-ferry/wait: disabled}') =>
        `${GAUGES}apiVersion: gauges.example/v1\nkind: Gauge\nmetadata: {name: one, namespace: default, annotations: ${annotations}}\nspec: ${spec}\n`;
      const forced = '{fleet-ferry/wait: disabled, fleet-ferry/force: enabled}';
      const path = '/apis/gauges.example/v1/namespaces/default/gauges/one';
      const uid = async () => ((await get(path)) as { metadata: { uid: string } }).metadata.uid;
      await site.release([pack('gauge', gauge('{size: 5, name: a}'))]);
      const first = await uid();
      expect(await site.release([pack('gauge', gauge('{size: 5, name: b}'))])).toMatchObject([
        {
          code: 'API_REFUSED',
          message: expect.stringMatching(/baptised once.*annotate it with fleet-ferry\/force: enabled/),
        },
      ]);
      // A new object of that name would be refused as well.
      const [refused] = await site.release([pack('gauge', gauge('{size: 5, name: nobody}', forced))]);
      expect(refused).toMatchObject({ code: 'API_REFUSED', rolledBack: false });
      expect(refused?.message).not.toContain('fleet-ferry/force');
      expect(await uid()).toBe(first);
      expect(await site.release([pack('gauge', gauge('{size: 5, name: b}', forced))])).toMatchObject([
        { outcome: 'configured' },
      ]);
      expect(await uid()).not.toBe(first);
      // What grew by hand stays, the rest of the object is corrected, and the next release comes through.
      await patch(path, { spec: { size: 9, unit: 'bar' } });
      await site.release([pack('gauge', gauge('{size: 5, name: b, unit: psi}'))]);
      expect(await get(path)).toMatchObject({ spec: { size: 9, name: 'b', unit: 'psi' } });
      expect(await observe(site.agent)).toMatchObject([
        { drift: [{ stays: true, message: expect.stringContaining('spec.size stays as it is') }] },
      ]);
      expect(await site.release([pack('gauge', gauge('{size: 12, name: b, unit: psi}'))])).toMatchObject([
        { outcome: 'configured' },
      ]);
      expect(await observe(site.agent)).toEqual([{ assignment: 'gauge', drift: [] }]);
    });

    it.concurrent('keep the size of a claim that a person grew, and let the other objects be applied', async ({
      expect,
    }) => {
      await cluster().request('POST', '/apis/storage.k8s.io/v1/storageclasses', {
        metadata: { name: 'growing' },
        provisioner: 'none.example/x',
        allowVolumeExpansion: true,
      });
      await cluster().request('POST', '/api/v1/persistentvolumes', {
        metadata: { name: 'growing' },
        spec: {
          storageClassName: 'growing',
          capacity: { storage: '1Gi' },
          accessModes: ['ReadWriteOnce'],
          hostPath: { path: '/x' },
          claimRef: { namespace: 'default', name: 'growing' },
        },
      });
      await using site = await createSite(target());
      const yaml = (text: string) =>
        `apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: growing, namespace: default, annotations: {fleet-ferry/wait: disabled}}\nspec: {accessModes: [ReadWriteOnce], storageClassName: growing, volumeName: growing, resources: {requests: {storage: 1Gi}}}\n---\n${configMap('beside-claim', text)}`;
      expect(await site.release([pack('claim', yaml('a'))])).toMatchObject([{ outcome: 'created' }]);
      const path = `${core}/persistentvolumeclaims/growing`;
      const bound = expect.objectContaining({ status: expect.objectContaining({ phase: 'Bound' }) });
      await expect.poll(() => get(path), { timeout: 40_000 }).toEqual(bound);
      await patch(path, { spec: { resources: { requests: { storage: '5Gi' } } } });
      expect(await site.release([pack('claim', yaml('b'))])).toMatchObject([{ outcome: 'configured' }]);
      expect(await get(path)).toMatchObject({ spec: { resources: { requests: { storage: '5Gi' } } } });
      expect(await get(`${core}/configmaps/beside-claim`)).toMatchObject({ data: { text: 'b' } });
      const stays = { stays: true, message: expect.stringContaining('requests.storage stays as it is') };
      expect(await observe(site.agent)).toMatchObject([{ drift: [stays] }]);
      const told = site.events().length;
      expect(await observe(site.agent)).toMatchObject([{ drift: [stays] }]);
      expect(site.events()).toHaveLength(told);
      // A release that grows it and fails is rolled back as far as that goes.
      const never = `apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: beside-claim, namespace: default}\nspec: {progressDeadlineSeconds: 1, selector: {matchLabels: {app: c}}, template: {metadata: {labels: {app: c}}, spec: {nodeSelector: {no: where}, containers: [{name: a, image: a}]}}}\n`;
      const grown = `${yaml('c').replace('storage: 1Gi', 'storage: 8Gi')}${never}`;
      expect(await site.release([pack('claim', grown)])).toMatchObject([
        { code: 'CHECK_FAILED', rolledBack: true },
      ]);
      expect(await get(path)).toMatchObject({ spec: { resources: { requests: { storage: '8Gi' } } } });
      expect(await get(`${core}/configmaps/beside-claim`)).toMatchObject({ data: { text: 'b' } });
      expect(await observe(site.agent)).toMatchObject([{ drift: [stays] }]);
      expect(await site.release([pack('claim', yaml('d'))])).toMatchObject([{ outcome: 'configured' }]);
    });

    it.concurrent('end when the admission policy is removed that denied the package', async ({ expect }) => {
      await using site = await createSite(target());
      const policies = '/apis/admissionregistration.k8s.io/v1';
      // Words that mean something else where another author uses them.
      const message = 'exceeded quota: configmaps is forbidden: User cannot patch; field is immutable';
      await cluster().request('POST', `${policies}/validatingadmissionpolicies`, {
        metadata: { name: 'no-denied' },
        spec: {
          matchConstraints: {
            resourceRules: [
              {
                apiGroups: [''],
                apiVersions: ['v1'],
                operations: ['CREATE', 'UPDATE'],
                resources: ['configmaps'],
              },
            ],
          },
          matchConditions: [{ name: 'ours', expression: "request.name.startsWith('denied-')" }],
          validations: [{ expression: 'false', message, reason: 'Forbidden' }],
        },
      });
      const spec = { policyName: 'no-denied', validationActions: ['Deny'] };
      const bindings = `${policies}/validatingadmissionpolicybindings`;
      await cluster().request('POST', bindings, { metadata: { name: 'no-denied' }, spec });
      const probe = () =>
        cluster().request('POST', `${core}/configmaps?dryRun=All`, { metadata: { name: 'denied-probe' } });
      await expect.poll(async () => (await probe()).status, { timeout: 20_000 }).toBe(403);
      expect(await site.release([pack('denied', configMap('denied-a', 'x'))])).toMatchObject([
        { outcome: 'failed', code: 'ADMISSION_DENIED', message: expect.stringContaining(message) },
      ]);
      await cluster().request('DELETE', `${bindings}/no-denied`);
      await expect.poll(async () => (await probe()).status, { timeout: 20_000 }).toBe(201);
      expect(await again(site)).toMatchObject([{ outcome: 'created' }]);
    });

    it.concurrent('do not prevent a release that repairs its own webhook, or a Pod together with its account', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const webhook = (rules: string) => `apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: own-webhook}
webhooks:
  - name: own.example.org
    clientConfig: {url: "https://127.0.0.1:9/"}
    rules: ${rules}
    matchConditions: [{name: ours, expression: "request.name.startsWith('own-')"}]
    failurePolicy: Fail
    sideEffects: None
    timeoutSeconds: 1
    admissionReviewVersions: [v1]
---
`;
      const all = '[{apiGroups: [""], apiVersions: [v1], operations: ["*"], resources: [configmaps]}]';
      const pod = `apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: own, namespace: default}\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: own, namespace: default}\nspec: {serviceAccountName: own, containers: [{name: a, image: a}]}\n---\n`;
      expect(
        await site.release([pack('own', `${webhook(all)}${configMap('own-a', 'x')}${pod}`)]),
      ).toMatchObject([{ outcome: 'created' }]);
      await sleep(2000);
      const none =
        '[{apiGroups: [none.example], apiVersions: [v1], operations: [CREATE], resources: [nones]}]';
      expect(
        await site.release([pack('own', `${webhook(none)}${configMap('own-a', 'y')}${pod}`)]),
      ).toMatchObject([{ outcome: 'configured' }]);
      expect(await get(`${core}/configmaps/own-a`)).toMatchObject({ data: { text: 'y' } });
    });
  });
};
