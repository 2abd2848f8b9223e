import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, it } from 'vitest';
import { openClusterAccess } from '../../../../agent/apply/kubernetes/api/cluster-access.ts';
import { openKubernetesApi } from '../../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import { kubernetesTarget } from '../../../../agent/apply/kubernetes/kubernetes-target.ts';
import { confirmPrune } from '../../../../agent/apply/operator/confirm-prune.ts';
import { holdSite, releaseSite } from '../../../../agent/apply/operator/hold-site.ts';
import { retryPackages } from '../../../../agent/apply/operator/retry-packages.ts';
import { planNext } from '../../../../agent/apply/plan-next.ts';
import { reconcile } from '../../../../agent/apply/reconcile.ts';
import type { Target } from '../../../../agent/model/target.ts';
import { observe } from '../../../../agent/observe/observe.ts';
import { makeAllDue } from '../../../../agent/store/applied/attempts.ts';
import { readOwned } from '../../../../agent/store/applied/inventory.ts';
import { findPackage } from '../../../../agent/store/applied/packages.ts';
import { lastOperations } from '../../../../agent/store/journal/operations.ts';
import {
  copiesIn,
  createSite,
  FLEET,
  type KubernetesSite,
  pack,
} from '../../../agent/apply/kubernetes/kubernetes-site.ts';
import type { OwnCluster } from '../../../harness/kubernetes/cluster.ts';
import { prepareConversionServer } from './conversion-server.ts';

const configMap = (name: string, text = 'x'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: default}\ndata: {text: ${text}}\n---\n`;

/** A Deployment that mounts a ConfigMap. @param more of the pod's spec: `nodeSelector: {no: where}, ` */
const deployment = (name: string, map: string, more = ''): string => `apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, namespace: default}
spec:
  progressDeadlineSeconds: 4
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec: {${more}containers: [{name: a, image: a}], volumes: [{name: s, configMap: {name: ${map}}}]}
---
`;
const NEVER = 'nodeSelector: {no: where}, ';

/** A definition of two versions, and an object of the second. */
const converted = (plural: string, kind: string, conversion: object): readonly [string, string] => {
  const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  const versions = ['v1', 'v2'].map((name) => ({ name, served: true, storage: name === 'v1', schema }));
  const group = `${plural}.example`;
  const names = { plural, singular: kind.toLowerCase(), kind };
  const definition = JSON.stringify({
    apiVersion: 'apiextensions.k8s.io/v1',
    kind: 'CustomResourceDefinition',
    metadata: { name: `${plural}.${group}` },
    spec: { group, scope: 'Namespaced', names, conversion, versions },
  });
  return [
    `${definition}\n---\n`,
    `apiVersion: ${group}/v2\nkind: ${kind}\nmetadata: {name: one, namespace: default, annotations: {fleet-ferry/wait: disabled}}\nspec: {a: b}\n---\n`,
  ];
};

/** Tests of what the steps of packages need of each other. */
export const stepsOnCluster = (cluster: () => OwnCluster): void => {
  const target = (healthTimeoutMs = 20_000, stepTimeoutMs = 10_000): Target =>
    kubernetesTarget({
      open: async () =>
        openKubernetesApi(await openClusterAccess({ kubeconfig: cluster().kubeconfig, context: '' }), {
          patienceMs: 500,
          requestMs: 10_000,
        }),
      fleet: FLEET,
      healthTimeoutMs,
      stepTimeoutMs,
      adopt: 'ifUnowned',
      copies: copiesIn(dirname(cluster().kubeconfig)),
    });
  const maps = '/api/v1/namespaces/default/configmaps';
  const isThere = async (path: string): Promise<boolean> =>
    (await cluster().request('GET', path)).status === 200;
  const again = ({ agent }: KubernetesSite) => {
    makeAllDue(agent.state, agent.edge.now());
    return reconcile(agent);
  };

  describe('steps that depend on others', () => {
    it.concurrent('keep the ConfigMap of the old pods until the new ones are ready, and forever if they never are', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const web = (hash: string, more = '') =>
        pack('hashed', `${configMap(`hashed-${hash}`)}${deployment('hashed', `hashed-${hash}`, more)}`);
      await site.release([web('a')]);
      expect(await site.release([web('b', NEVER)])).toMatchObject([
        { code: 'CHECK_FAILED', rolledBack: true },
      ]);
      expect(await isThere(`${maps}/hashed-a`)).toBe(true);
      expect(await isThere(`${maps}/hashed-b`)).toBe(false);
      expect(await site.release([web('c')])).toEqual([{ assignment: 'hashed', outcome: 'configured' }]);
      expect(await isThere(`${maps}/hashed-a`)).toBe(false);
      expect(JSON.stringify(site.events().at(-1)?.detail)).toContain('"outcome":"deleted"');
    });

    it.concurrent('keep the ConfigMap of another package that does not run as desired yet', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const release = (hash: string, more = '') =>
        site.release([
          pack('a-settings', configMap(`settings-${hash}`)),
          pack('b-web', deployment('reader', `settings-${hash}`, more)),
        ]);
      await release('a');
      expect(await release('b', NEVER)).toMatchObject([
        {
          assignment: 'a-settings',
          outcome: 'configured',
          code: 'REMOVAL_WAITS',
          message: expect.stringContaining(
            '/ConfigMap/default/settings-a is removed when b-web runs as desired',
          ),
        },
        { assignment: 'b-web', outcome: 'failed' },
      ]);
      expect(await isThere(`${maps}/settings-a`)).toBe(true);
      expect(await release('c')).toEqual([
        { assignment: 'a-settings', outcome: 'configured' },
        { assignment: 'b-web', outcome: 'configured' },
      ]);
      for (const [hash, isLeft] of [
        ['a', false],
        ['b', false],
        ['c', true],
      ] as const)
        expect(await isThere(`${maps}/settings-${hash}`)).toBe(isLeft);
      expect(readOwned(site.agent.state, 'a-settings')).toHaveLength(1);
      expect(await observe(site.agent)).toEqual([
        { assignment: 'a-settings', drift: [] },
        { assignment: 'b-web', drift: [] },
      ]);
    });

    it.concurrent('of an update that removes most of its objects or very many wait for "fleet-agent prune"', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const { state, policy } = site.agent;
      state.db.prepare('UPDATE trust SET prune_confirmed = 0').run();
      Object.assign(site.agent, { policy: { ...policy, pruneBudget: 5 } });
      const mapsNamed = async (prefix: string): Promise<number> => {
        const { body } = await cluster().request('GET', maps);
        const { items } = body as {
          readonly items: readonly { readonly metadata: { readonly name: string } }[];
        };
        return items.filter(({ metadata }) => metadata.name.startsWith(prefix)).length;
      };
      /** As the scheduler writes it: what the platform adds lies beside the folder of the manifests. */
      const package_ = (prefix: string, count: number) => ({
        id: `${prefix}-app`,
        files: {
          'platform-config.yaml': configMap(`platform-${prefix}`),
          'manifests/app.yaml': Array.from({ length: count }, (_, at) => configMap(`${prefix}-${at}`)).join(
            '',
          ),
        },
      });
      const wide = package_('wide', 80);
      await site.release([package_('tenth', 30), wide]);
      // 29 of 30 and 51 of 80 go; 27 of 30 leave a tenth and are within the budget.
      const [tenth, less] = await site.release([package_('tenth', 1), package_('wide', 29)]);
      expect(tenth).toEqual({
        assignment: 'tenth-app',
        outcome: 'skipped',
        code: 'PRUNE_BUDGET',
        message:
          'the release removes 29 objects of the package and creates 0; of 30 of its application 1 would be left; if it is meant: fleet-agent prune',
      });
      expect(less?.message).toMatch(
        /removes 51 objects .* at most 50 fewer go unasked; if it is meant: fleet-agent prune/,
      );
      expect([await mapsNamed('tenth-'), await mapsNamed('wide-')]).toEqual([30, 80]);
      const next = await planNext(site.agent);
      expect(next.map(({ waits }) => waits?.message)).toEqual([tenth?.message, less?.message]);
      expect(next[0]?.changes.filter(({ outcome }) => outcome === 'deleted')).toHaveLength(29);
      expect(await site.release([package_('tenth', 3), wide])).toEqual([
        { assignment: 'tenth-app', outcome: 'configured' },
      ]);
      expect([await mapsNamed('tenth-'), await mapsNamed('wide-')]).toEqual([3, 80]);
      // A package that leaves is counted by its objects, too.
      expect(await site.release([package_('tenth', 3)])).toMatchObject([
        {
          assignment: 'wide-app',
          code: 'PRUNE_BUDGET',
          message: expect.stringMatching(
            /have 81 files and objects, at most 50 .*if it is meant: fleet-agent prune$/,
          ),
        },
      ]);
      expect(await mapsNamed('wide-')).toBe(80);
      expect(await confirmPrune(site.agent)).toMatchObject([{ assignment: 'wide-app', outcome: 'deleted' }]);
      expect([await mapsNamed('tenth-'), await mapsNamed('wide-')]).toEqual([3, 0]);
    });

    it.concurrent('delete an object that nobody changed by one request, and look again at one that somebody did', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const named = (count: number) =>
        pack('plain', Array.from({ length: count }, (_, index) => configMap(`plain-${index}`)).join(''));
      await site.release([named(8)]);
      const { target: real } = { target: site.agent.targets[0] as Target };
      const changing: Target = {
        ...real,
        plan: async (...given) => {
          const plan = await real.plan(...given);
          // Between the plan and its steps.
          await cluster().request('PATCH', `${maps}/plain-1`, { data: { more: 'by hand' } });
          await cluster().request('PATCH', `${maps}/plain-2`, {
            metadata: { annotations: { 'fleet-ferry/assignment': null, 'fleet-ferry/fleet': null } },
          });
          return plan;
        },
      };
      const begin = (await cluster().readAudit()).length;
      Object.assign(site.agent, { targets: [changing] });
      await site.release([named(1)]);
      for (const [index, isLeft] of [true, false, true, false].entries())
        expect(await isThere(`${maps}/plain-${index}`), `plain-${index}`).toBe(isLeft);
      const asked = (await cluster().readAudit())
        .slice(begin)
        .filter(({ userAgent = '' }) => userAgent.startsWith('fleet-agent'))
        .filter(({ objectRef }) => /^plain-[3-7]$/.test(objectRef?.name ?? ''))
        .map(({ verb, objectRef }) => `${verb} ${objectRef?.name}`);
      expect(asked.toSorted()).toEqual([3, 4, 5, 6, 7].map((index) => `delete plain-${index}`));
    });

    it.concurrent('that a finalizer holds continue with the command in their message, also after a hold', async ({
      expect,
    }) => {
      await using site = await createSite(target(20_000, 500));
      const held = (name: string): string =>
        configMap(name).replace('namespace: default', 'namespace: default, finalizers: [test.example/hold]');
      const letGo = (name: string) =>
        cluster().request('PATCH', `${maps}/${name}`, { metadata: { finalizers: null } });
      await site.release([
        pack('final', `${configMap('final-a')}${held('final-b')}`),
        pack('goes', held('goes-a')),
      ]);
      const results = await site.release([pack('final', configMap('final-a', 'y'))]);
      expect(results).toMatchObject([
        { assignment: 'final', code: 'REMOVAL_WAITS' },
        { assignment: 'goes', code: 'REMOVAL_WAITS' },
      ]);
      for (const { assignment, message } of results)
        expect(message).toMatch(
          new RegExp(`test\\.example/hold; end what holds it, then run: fleet-agent retry ${assignment}$`),
        );
      await holdSite(site.agent, undefined, 'batch 17');
      expect(await reconcile(site.agent)).toMatchObject([
        {
          assignment: 'goes',
          code: 'REMOVAL_WAITS',
          message: expect.stringMatching(/test\.example\/hold.*to end the hold: fleet-agent release$/),
        },
      ]);
      await letGo('final-b');
      await letGo('goes-a');
      releaseSite(site.agent);
      await retryPackages(site.agent, ['final']);
      await retryPackages(site.agent, ['goes']);
      for (const name of ['final-b', 'goes-a']) expect(await isThere(`${maps}/${name}`)).toBe(false);
      expect(findPackage(site.agent.state, 'goes')).toBeUndefined();
    });

    it.concurrent('repeat a refused deletion automatically and with "fleet-agent retry", and keep the release', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const policies = '/apis/admissionregistration.k8s.io/v1';
      const policy = {
        apiGroups: [''],
        apiVersions: ['v1'],
        operations: ['DELETE'],
        resources: ['configmaps'],
      };
      await cluster().request('POST', `${policies}/validatingadmissionpolicies`, {
        metadata: { name: 'frozen' },
        spec: {
          matchConstraints: { resourceRules: [policy] },
          matchConditions: [{ name: 'ours', expression: "request.name.startsWith('frozen-')" }],
          validations: [{ expression: 'false', message: 'frozen until Monday' }],
        },
      });
      const binding = `${policies}/validatingadmissionpolicybindings`;
      const freeze = async (): Promise<void> => {
        const spec = { policyName: 'frozen', validationActions: ['Deny'] };
        await cluster().request('POST', binding, { metadata: { name: 'frozen' }, spec });
        await cluster().request('POST', maps, { metadata: { name: 'frozen-probe' } });
        const isFrozen = async () =>
          (await cluster().request('DELETE', `${maps}/frozen-probe?dryRun=All`)).status;
        await expect.poll(isFrozen, { timeout: 20_000 }).toBe(422);
      };
      const thaw = async (): Promise<void> => {
        await cluster().request('DELETE', `${binding}/frozen`);
        const isFrozen = async () =>
          (await cluster().request('DELETE', `${maps}/frozen-probe?dryRun=All`)).status;
        await expect.poll(isFrozen, { timeout: 20_000 }).toBe(200);
      };
      await site.release([pack('frozen', `${configMap('frozen-a')}${configMap('frozen-b')}`)]);
      await freeze();
      const said =
        /ConfigMap default\/frozen-b was not deleted: .*frozen until Monday.*, then run: fleet-agent retry frozen$/;
      expect(await site.release([pack('frozen', configMap('frozen-a', 'y'))])).toMatchObject([
        { outcome: 'configured', code: 'REMOVAL_WAITS', message: expect.stringMatching(said) },
      ]);
      expect(findPackage(site.agent.state, 'frozen')).toMatchObject({ status: 'healthy' });
      const told = site.events().length;
      expect(await again(site)).toMatchObject([{ outcome: 'skipped', code: 'REMOVAL_WAITS' }]);
      expect(site.events()).toHaveLength(told);
      await thaw();
      expect(await retryPackages(site.agent)).toEqual([]);
      expect(await isThere(`${maps}/frozen-b`)).toBe(false);
      expect(site.events().at(-1)).toMatchObject({
        type: 'corrected',
        message: 'the deletion is complete',
      });
      await freeze();
      expect(await site.release([])).toMatchObject([{ outcome: 'skipped', code: 'REMOVAL_WAITS' }]);
      await thaw();
      expect(await again(site)).toMatchObject([{ outcome: 'deleted' }]);
      expect(await isThere(`${maps}/frozen-a`)).toBe(false);
    });

    it.concurrent('wait for a conversion webhook of the same package, and keep it for the next attempt', async ({
      expect,
    }) => {
      await using hook = await prepareConversionServer();
      await using site = await createSite(target(3000));
      const [definition, object] = converted('tills2', 'Till2', hook.conversion);
      const operator = pack('operator', `${definition}${deployment('operator', 'none')}${object}`);
      expect(await site.release([operator])).toMatchObject([
        { outcome: 'failed', code: 'WEBHOOK_UNREACHABLE', rolledBack: false },
      ]);
      const path = '/apis/apps/v1/namespaces/default/deployments/operator';
      expect(await isThere(path)).toBe(true);
      expect(readOwned(site.agent.state, 'operator')).toHaveLength(3);
      hook.start();
      expect(await again(site)).toMatchObject([{ outcome: 'created' }]);
      expect(await isThere('/apis/tills2.example/v1/namespaces/default/tills2/one')).toBe(true);
      // In one try where its pods are up in time.
      expect(await site.release([])).toMatchObject([{ outcome: 'deleted' }]);
      hook.stop();
      const serving = (async () => {
        while (!(await isThere(path))) await sleep(50);
        await sleep(1000);
        hook.start();
      })();
      expect(await site.release([operator])).toMatchObject([{ outcome: 'created' }]);
      await serving;
      expect(lastOperations(site.agent.state, 1)).toMatchObject([{ outcome: 'kept', rollingBack: false }]);
    });

    it.concurrent('let a release repair the operator whose webhook is needed to read its objects', async ({
      expect,
    }) => {
      await using hook = await prepareConversionServer();
      await using site = await createSite(target());
      const [definition, object] = converted('valves2', 'Valve2', hook.conversion);
      const operator = (image: string, more: string) =>
        pack(
          'repaired',
          `${definition}${deployment('repaired', 'none').replace('image: a', `image: ${image}`)}${more}`,
        );
      hook.start();
      const extra = object.replace('name: one', 'name: two');
      expect(await site.release([operator('a', `${object}${extra}`)])).toMatchObject([
        { outcome: 'created' },
      ]);
      hook.stop();
      const path = '/apis/apps/v1/namespaces/default/deployments/repaired';
      const repairing = (async () => {
        while (!JSON.stringify((await cluster().request('GET', path)).body).includes('image":"b"'))
          await sleep(50);
        await sleep(500);
        hook.start();
      })();
      const changed = object.replace('{a: b}', '{a: c}');
      expect(await site.release([operator('b', changed)])).toEqual([
        { assignment: 'repaired', outcome: 'configured' },
      ]);
      await repairing;
      const objects = '/apis/valves2.example/v1/namespaces/default/valves2';
      expect((await cluster().request('GET', `${objects}/one`)).body).toMatchObject({ spec: { a: 'c' } });
      expect(await isThere(`${objects}/two`)).toBe(false);
    });

    it.concurrent('apply an object whose kind a controller creates from another object of the package', async ({
      expect,
    }) => {
      await using site = await createSite(target());
      const definitions = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
      const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
      const crd = (group: string, plural: string, kind: string) => ({
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `${plural}.${group}` },
        spec: {
          group,
          scope: 'Namespaced',
          names: { plural, singular: kind.toLowerCase(), kind },
          versions: [{ name: 'v1', served: true, storage: true, schema }],
        },
      });
      const yaml = `${JSON.stringify(crd('moulds.example', 'moulds', 'Mould'))}
---
apiVersion: moulds.example/v1
kind: Mould
metadata: {name: lid, namespace: default, annotations: {fleet-ferry/wait: disabled}}
spec: {definition: {names: {kind: Lid}}}
---
apiVersion: lids.example/v1
kind: Lid
metadata: {name: one, namespace: default, annotations: {fleet-ferry/wait: disabled}}
spec: {a: b}
`;
      const mould = '/apis/moulds.example/v1/namespaces/default/moulds/lid';
      const controller = (async () => {
        while (!(await isThere(mould))) await sleep(50);
        await cluster().request('POST', definitions, crd('lids.example', 'lids', 'Lid'));
      })();
      expect(await site.release([pack('moulded', yaml)])).toMatchObject([{ outcome: 'created' }]);
      await controller;
      expect(await isThere('/apis/lids.example/v1/namespaces/default/lids/one')).toBe(true);
      expect(await observe(site.agent)).toEqual([{ assignment: 'moulded', drift: [] }]);
    });
  });
};
