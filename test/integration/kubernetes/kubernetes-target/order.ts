import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, it } from 'vitest';
import { openClusterAccess } from '../../../../agent/apply/kubernetes/api/cluster-access.ts';
import { openKubernetesApi } from '../../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import { kubernetesTarget } from '../../../../agent/apply/kubernetes/kubernetes-target.ts';
import { planNext } from '../../../../agent/apply/plan-next.ts';
import { resume } from '../../../../agent/apply/perform.ts';
import { reconcile } from '../../../../agent/apply/reconcile.ts';
import type { Target } from '../../../../agent/model/target.ts';
import { lookAtDrift } from '../../../../agent/observe/observe.ts';
import {
  copiesIn,
  createSite,
  FLEET,
  openSite,
  pack,
} from '../../../agent/apply/kubernetes/kubernetes-site.ts';
import type { OwnCluster } from '../../../harness/kubernetes/cluster.ts';

type Annotations = Readonly<Record<string, string>>;

export const map = (name: string, annotations: Annotations = {}, text = 'x'): string =>
  `${JSON.stringify({ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name, namespace: 'default', annotations }, data: { text } })}\n---\n`;

const workload = (name: string, annotations: Annotations, where = {}): string =>
  `${JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: { name, namespace: 'default', annotations },
    spec: {
      progressDeadlineSeconds: 3,
      selector: { matchLabels: { app: name } },
      template: {
        metadata: { labels: { app: name } },
        spec: { ...where, containers: [{ name: 'a', image: 'a' }] },
      },
    },
  })}\n---\n`;

export const hook = (name: string, annotations: Annotations, arg = 'x', more: object = {}): string =>
  `${JSON.stringify({
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name, namespace: 'default', annotations },
    spec: {
      ...more,
      template: {
        spec: {
          restartPolicy: 'Never',
          ...('activeDeadlineSeconds' in more && { nodeSelector: { no: 'where' } }),
          containers: [{ name: 'a', image: 'a', args: [arg] }],
        },
      },
    },
  })}\n---\n`;

const wave = (text: string): Annotations => ({ 'fleet-ferry/wave': text });

/** The order of the objects of one package. */
export const orderOnCluster = (cluster: () => OwnCluster): void => {
  const target = (healthTimeoutMs = 20_000): Target =>
    kubernetesTarget({
      open: async () =>
        openKubernetesApi(await openClusterAccess({ kubeconfig: cluster().kubeconfig, context: '' }), {
          patienceMs: 500,
          requestMs: 10_000,
        }),
      fleet: FLEET,
      healthTimeoutMs,
      stepTimeoutMs: 10_000,
      adopt: 'ifUnowned',
      copies: copiesIn(dirname(cluster().kubeconfig)),
    });
  const read = async (path: string): Promise<Record<string, never> | undefined> => {
    const { status, body } = await cluster().request('GET', path);
    return status === 200 ? (body as Record<string, never>) : undefined;
  };
  const mapOf = (name: string) => read(`/api/v1/namespaces/default/configmaps/${name}`);
  const jobOf = (name: string) => read(`/apis/batch/v1/namespaces/default/jobs/${name}`);
  const uidOf = async (name: string): Promise<string | undefined> =>
    ((await jobOf(name))?.['metadata'] as { uid?: string } | undefined)?.uid;

  describe('the order of objects (checklist O2, O3, O4)', () => {
    it.concurrent('applies a wave when the one before is healthy, and none behind one that fails', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const never = { nodeSelector: { no: 'where' } };
      const all = (where = {}) =>
        pack(
          'waves',
          `${map('wave-c', wave('2'))}${workload('wave-b', wave('1'), where)}${map('wave-a', wave('-1'))}`,
        );
      const [failed] = await site.release([all(never)]);
      expect(failed).toMatchObject({ outcome: 'failed', code: 'CHECK_FAILED' });
      expect(failed?.message).toContain(
        'objects that come first are not healthy, so the others were not applied',
      );
      const plan = JSON.stringify(site.events());
      expect(plan).toContain('ConfigMap/default/wave-a');
      expect(plan).not.toContain('ConfigMap/default/wave-c');
      await site.want([all()]);
      const [next] = await planNext(site.agent);
      expect(next?.changes.map(({ key }) => key)).toEqual([
        '/ConfigMap/default/wave-a',
        'order:1',
        'apps/Deployment/default/wave-b',
        'order:2',
        '/ConfigMap/default/wave-c',
      ]);
      expect(await reconcile(site.agent)).toMatchObject([{ outcome: 'created' }]);
      expect(await mapOf('wave-c')).toBeDefined();
      // Nothing is waited for where nothing changes.
      expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
      await site.release([]);
      const removed = (site.events().at(-1) as unknown as { detail: { changes: { key: string }[] } }).detail
        .changes;
      expect(removed.map(({ key }) => key)).toEqual([
        '/ConfigMap/default/wave-c',
        'apps/Deployment/default/wave-b',
        '/ConfigMap/default/wave-a',
      ]);
    });

    it.concurrent('continues in the wait of a wave after a kill', async ({ expect }) => {
      await using site = await createSite(target());
      const stop = new AbortController();
      const agent = {
        ...site.agent,
        signal: stop.signal,
        onJournal: (at: string) => {
          if (/step(s| ).*recorded/.test(at)) stop.abort(new Error('killed'));
        },
      };
      await site.want([pack('kept', `${map('kept-a')}${map('kept-b', wave('1'))}`)]);
      await expect(reconcile(agent)).rejects.toMatchObject({ code: 'ABORTED' });
      expect(await mapOf('kept-b')).toBeUndefined();
      await using again = openSite(site.folder, target());
      await resume(again.agent);
      expect(await mapOf('kept-b')).toBeDefined();
      expect(
        again.events().filter(({ assignment, outcome }) => assignment === 'kept' && outcome === 'created'),
      ).toHaveLength(1);
    });

    it.concurrent('refuses a circle before anything is written', async ({ expect }) => {
      await using site = await createSite(target());
      const needs = (name: string): Annotations => ({
        'fleet-ferry/depends-on': `/namespaces/default/ConfigMap/${name}`,
      });
      const circle = `${map('round-a', needs('round-b'))}${map('round-b', needs('round-a'))}`;
      expect(await site.release([pack('round', circle)])).toMatchObject([
        {
          outcome: 'failed',
          code: 'OBJECT_INVALID',
          message: expect.stringContaining('ConfigMap round-a -> ConfigMap round-b -> ConfigMap round-a'),
        },
      ]);
      expect(await mapOf('round-a')).toBeUndefined();
    });

    it.concurrent('runs hooks before and after, once with each version of the package', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const before = hook('migrate', { 'fleet-ferry/hook': 'before' });
      const after = hook('report', { 'fleet-ferry/hook': 'after' });
      const all = (text: string) => pack('hooks', `${after}${map('hooked', {}, text)}${before}`);
      expect(await site.release([all('one')])).toMatchObject([{ outcome: 'created' }]);
      const startOf = async (name: string) =>
        ((await jobOf(name)) as { status?: { completionTime?: string } } | undefined)?.status
          ?.completionTime ?? '';
      const made = ((await mapOf('hooked')) as unknown as { metadata: { creationTimestamp: string } })
        .metadata.creationTimestamp;
      expect((await startOf('migrate')) <= made).toBe(true);
      const first = [await uidOf('migrate'), await uidOf('report')];
      // A hook that a person removes has run, and a look finds nothing wrong.
      await cluster().kubectl(['delete', 'job/report', '-n', 'default']);
      expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
      await reconcile(site.agent);
      expect(await uidOf('report')).toBeUndefined();
      expect(await uidOf('migrate')).toBe(first[0]);
      expect(await site.release([all('two')])).toMatchObject([{ outcome: 'configured' }]);
      const second = [await uidOf('migrate'), await uidOf('report')];
      expect(second.every((uid, index) => uid !== undefined && uid !== first[index])).toBe(true);
    });

    it.concurrent('waits for a hook that a queue suspends until it has run', async ({ expect }) => {
      await using site = await createSite(target());
      const path = '/apis/batch/v1/namespaces/default/jobs/queued';
      const change = async (spec: object): Promise<void> => {
        const { status } = await cluster().request('PATCH', `${path}?fieldManager=kueue`, { spec });
        expect(status).toBe(200);
      };
      // Without pods it does not end before the queue has suspended it.
      const queued = hook('queued', { 'fleet-ferry/hook': 'before' }, 'x', { parallelism: 0 });
      const released = site.release([pack('queued', `${queued}${map('behind-queue')}`)]);
      const status = async () => (await jobOf('queued'))?.['status'];
      await expect.poll(status).toMatchObject({ ready: 0 });
      await change({ suspend: true });
      await expect.poll(status).toMatchObject({ conditions: [{ type: 'Suspended', status: 'True' }] });
      await sleep(1500);
      expect(await mapOf('behind-queue')).toBeUndefined();
      await change({ suspend: false, parallelism: 1 });
      expect(await released).toMatchObject([{ outcome: 'created' }]);
      expect(await mapOf('behind-queue')).toBeDefined();
    });

    it.concurrent('deletes a complete hook whose author wants that, and runs it again with the next version only', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const gone = { 'fleet-ferry/hook-delete': 'succeeded' };
      const all = (text: string) =>
        pack(
          'brief-hooks',
          [
            hook('brief-after', { 'fleet-ferry/hook': 'after', ...gone }),
            map('brief-hooked', {}, text),
            hook('brief-before', { 'fleet-ferry/hook': 'before', ...gone }),
          ].join(''),
        );
      const begin = (await cluster().readAudit()).length;
      const made = async (name: string): Promise<number> =>
        (await cluster().readAudit()).slice(begin).filter(({ verb, objectRef, requestURI }) => {
          const isTrial = requestURI.includes('dryRun');
          return (
            verb === 'patch' && objectRef?.name === name && objectRef.subresource === undefined && !isTrial
          );
        }).length;
      for (const [index, text] of ['one', 'two'].entries()) {
        const [result] = await site.release([all(text)]);
        expect(result?.outcome).toBe(index === 0 ? 'created' : 'configured');
        for (const name of ['brief-before', 'brief-after']) {
          expect(await uidOf(name)).toBeUndefined();
          expect(await made(name)).toBe(index + 1);
        }
        expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
        await reconcile(site.agent);
        expect(await made('brief-before')).toBe(index + 1);
      }
    });

    it.concurrent('refuses a delete policy of a hook that it does not know', async ({ expect }) => {
      await using site = await createSite(target());
      const never = hook('never', { 'fleet-ferry/hook': 'before', 'fleet-ferry/hook-delete': 'never' });
      expect(await site.release([pack('never-hook', never)])).toMatchObject([
        { code: 'OBJECT_INVALID', message: expect.stringContaining('fleet-ferry/hook-delete: "never"') },
      ]);
    });
  });
};
