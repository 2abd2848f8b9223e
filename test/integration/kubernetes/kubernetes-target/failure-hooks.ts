import { dirname } from 'node:path';
import { describe, it } from 'vitest';
import { openClusterAccess } from '../../../../agent/apply/kubernetes/api/cluster-access.ts';
import { openKubernetesApi } from '../../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import { kubernetesTarget } from '../../../../agent/apply/kubernetes/kubernetes-target.ts';
import { resume } from '../../../../agent/apply/perform.ts';
import { retryPackages } from '../../../../agent/apply/operator/retry-packages.ts';
import { reconcile } from '../../../../agent/apply/reconcile.ts';
import type { Target } from '../../../../agent/model/target.ts';
import { lookAtDrift } from '../../../../agent/observe/observe.ts';
import { findPackage } from '../../../../agent/store/applied/packages.ts';
import {
  copiesIn,
  createSite,
  FLEET,
  openSite,
  pack,
} from '../../../agent/apply/kubernetes/kubernetes-site.ts';
import type { OwnCluster } from '../../../harness/kubernetes/cluster.ts';
import { accountToken, tokenKubeconfig } from '../account-token.ts';
import { hook, map } from './order.ts';

/** A Job that no node may run, so it fails after a second. */
const FAILING = { activeDeadlineSeconds: 1 };

/** Hooks of packages that fail, and what becomes of hooks that have ended. */
export const failureHooksOnCluster = (cluster: () => OwnCluster): void => {
  const targetBy = (kubeconfig: () => string): Target =>
    kubernetesTarget({
      open: async () =>
        openKubernetesApi(await openClusterAccess({ kubeconfig: kubeconfig(), context: '' }), {
          patienceMs: 500,
          requestMs: 10_000,
        }),
      fleet: FLEET,
      healthTimeoutMs: 30_000,
      stepTimeoutMs: 10_000,
      adopt: 'ifUnowned',
      copies: copiesIn(dirname(cluster().kubeconfig)),
    });
  const target = (): Target => targetBy(() => cluster().kubeconfig);
  type Read = { readonly metadata: { readonly uid: string }; readonly data?: object };
  const read = async (path: string): Promise<Read | undefined> => {
    const { status, body } = await cluster().request('GET', path);
    return status === 200 ? (body as Read) : undefined;
  };
  const jobOf = (name: string) => read(`/apis/batch/v1/namespaces/default/jobs/${name}`);
  const mapOf = (name: string) => read(`/api/v1/namespaces/default/configmaps/${name}`);
  const changesOf = (
    event: object | undefined,
  ): readonly { key: string; outcome: string; reason: string }[] =>
    (event as { detail: { changes: { key: string; outcome: string; reason: string }[] } }).detail.changes;

  describe('hooks of a failure (checklist O4)', () => {
    it.concurrent('run before the way back, once for each try, and not without a failure', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const failed = hook('undo', { 'fleet-ferry/hook': 'failed' });
      const all = (text: string, more: object) =>
        pack(
          'undone',
          `${map('undone', {}, text)}${hook('check', { 'fleet-ferry/hook': 'after' }, 'x', more)}${failed}`,
        );
      expect(await site.release([all('one', {})])).toMatchObject([{ outcome: 'created' }]);
      expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);
      expect(await jobOf('undo')).toBeUndefined();

      const [result] = await site.release([all('two', FAILING)]);
      expect(result).toMatchObject({ outcome: 'failed', code: 'CHECK_FAILED' });
      const first = await jobOf('undo');
      expect(first).toMatchObject({
        status: {
          conditions: expect.arrayContaining([expect.objectContaining({ type: 'Complete', status: 'True' })]),
        },
      });
      expect((await mapOf('undone'))?.data).toEqual({ text: 'one' });
      const back = site.events().findLast(({ type }) => type === 'rolled-back');
      expect(changesOf(back)[0]).toEqual({
        key: 'batch/Job/default/undo',
        outcome: 'created',
        reason: 'it runs because the package failed',
      });
      // The failed Job of the other version says nothing about the one that runs.
      expect(findPackage(site.agent.state, 'undone')).toMatchObject({ status: 'failed' });
      expect(await lookAtDrift(site.agent)).toMatchObject([{ drift: [] }]);

      expect(await retryPackages(site.agent)).toMatchObject([{ outcome: 'failed' }]);
      expect((await jobOf('undo'))?.metadata.uid).not.toBe(first?.metadata.uid);
      await site.release([]);
      expect(await jobOf('undo')).toBeUndefined();
    });

    it.concurrent('run once, although the agent is killed while they run', async ({ expect }) => {
      await using site = await createSite(target());
      const all = (more: object, text: string) =>
        pack(
          'cut',
          `${map('cut', {}, text)}${hook('cut-check', { 'fleet-ferry/hook': 'after' }, 'x', more)}${hook('cut-undo', { 'fleet-ferry/hook': 'failed' })}`,
        );
      await site.release([all({}, 'one')]);
      const stop = new AbortController();
      await site.want([all(FAILING, 'two')]);
      const running = reconcile({ ...site.agent, signal: stop.signal });
      while ((await jobOf('cut-undo')) === undefined) await new Promise((resolve) => setTimeout(resolve, 20));
      stop.abort(new Error('killed'));
      await expect(running).rejects.toMatchObject({ code: 'ABORTED' });
      const uid = (await jobOf('cut-undo'))?.metadata.uid;
      await using again = openSite(site.folder, target());
      await resume(again.agent);
      expect((await jobOf('cut-undo'))?.metadata.uid).toBe(uid);
      expect((await mapOf('cut'))?.data).toEqual({ text: 'one' });
      expect(again.events().filter(({ type }) => type === 'rolled-back')).toHaveLength(1);
    });

    it.concurrent('that fail themselves are named, and the way back is gone nevertheless', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const all = (more: object, text: string) =>
        pack(
          'twice',
          [
            map('twice', {}, text),
            hook('twice-check', { 'fleet-ferry/hook': 'after' }, 'x', more),
            hook(
              'twice-undo',
              { 'fleet-ferry/hook': 'failed', 'fleet-ferry/hook-delete': 'failed' },
              'x',
              FAILING,
            ),
            hook('twice-later', { 'fleet-ferry/hook': 'failed', 'fleet-ferry/wave': '1' }),
          ].join(''),
        );
      await site.release([all({}, 'one')]);
      await site.release([all(FAILING, 'two')]);
      const back = site.events().findLast(({ type }) => type === 'rolled-back');
      expect(changesOf(back)[0]).toMatchObject({
        key: 'batch/Job/default/twice-undo',
        outcome: 'failed',
        reason: expect.stringMatching(
          /^it runs because the package failed, and is not complete: .*DeadlineExceeded/,
        ),
      });
      expect(await jobOf('twice-undo')).toBeUndefined();
      expect(await jobOf('twice-later')).toBeUndefined();
      expect((await mapOf('twice'))?.data).toEqual({ text: 'one' });
    });
  });

  describe('hooks that have ended', () => {
    it.concurrent('and failed are deleted when the failure is recorded, if their author wants that', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const all = (more: object, text: string) =>
        pack(
          'swept',
          `${map('swept', {}, text)}${hook('swept-before', { 'fleet-ferry/hook': 'before', 'fleet-ferry/hook-delete': 'failed' }, text, more)}`,
        );
      await site.release([all({}, 'one')]);
      expect(await jobOf('swept-before')).toBeDefined();
      expect(await site.release([all(FAILING, 'two')])).toMatchObject([{ outcome: 'failed' }]);
      expect(await jobOf('swept-before')).toBeUndefined();
      expect((await mapOf('swept'))?.data).toEqual({ text: 'one' });
      expect(findPackage(site.agent.state, 'swept')).toMatchObject({ status: 'failed' });
    });

    it.concurrent('and that the account may not delete stay, named by a check of a healthy package', async ({
      expect,
    }) => {
      const account = { kind: 'ServiceAccount', namespace: 'default', name: 'no-delete' };
      await cluster().request('POST', '/api/v1/namespaces/default/serviceaccounts', {
        metadata: { name: account.name },
      });
      await cluster().request('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', {
        metadata: { name: account.name },
        rules: [
          {
            apiGroups: ['*'],
            resources: ['*'],
            verbs: ['get', 'list', 'watch', 'create', 'patch', 'update'],
          },
        ],
      });
      await cluster().request('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
        metadata: { name: account.name },
        roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: account.name },
        subjects: [account],
      });
      const token = await accountToken(cluster(), account.namespace, account.name);
      const kubeconfig = await tokenKubeconfig(cluster(), token, dirname(cluster().kubeconfig));
      await using site = await createSite(targetBy(() => kubeconfig));
      const brief = hook('stays-before', {
        'fleet-ferry/hook': 'before',
        'fleet-ferry/hook-delete': 'succeeded',
      });
      expect(await site.release([pack('stays', `${map('stays')}${brief}`)])).toMatchObject([
        { outcome: 'created' },
      ]);
      const row = findPackage(site.agent.state, 'stays');
      expect(row).toMatchObject({ status: 'healthy' });
      expect(row?.checks).toContainEqual({
        name: 'Job default/stays-before',
        outcome: 'passed',
        message: expect.stringMatching(
          /^the hook has run and could not be deleted \(fleet-ferry\/hook-delete\), so it stays: .*delete/,
        ),
      });
      expect(await jobOf('stays-before')).toBeDefined();
    });
  });
};
