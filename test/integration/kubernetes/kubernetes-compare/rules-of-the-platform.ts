import { describe, expect, it } from 'vitest';
import type { ObjectRule } from '#bundles/formats/bundle/config';
import type { PackageResult } from '../../../../agent/apply/package-result.ts';
import { observe } from '../../../../agent/observe/observe.ts';
import { type KubernetesSite, pack } from '../../../agent/apply/kubernetes/kubernetes-site.ts';
import { deployment, map, yaml } from './objects.ts';
import { type CompareWorld, mapOf, webOf } from './world.ts';

/** Rules of the platform by kind, name and namespace. */
export const platformRulesOnCluster = ({ newSite, ask, at, newNamespace, driftOf }: CompareWorld): void => {
  const release = (
    site: KubernetesSite,
    objectRules: readonly ObjectRule[],
    ...objects: readonly object[]
  ): Promise<readonly PackageResult[]> => site.release([pack('app', yaml(...objects), { objectRules })]);
  const edit = (url: string, body: object): Promise<unknown> =>
    ask('PATCH', `${url}?fieldManager=controller`, body);

  describe('rules of the platform for kinds of objects', () => {
    it('leave fields of all Deployments to others, from the release with the rule on and no longer', async () => {
      const ns = await newNamespace();
      await using site = await newSite();
      const rules = [{ kinds: ['Deployment.apps'], ignore: ['/spec/replicas'] }];
      await release(site, rules, deployment(ns, { replicas: 1 }));
      await edit(webOf(ns), { spec: { replicas: 3 } });
      expect(await driftOf(site)).toEqual([]);
      // Another release of the package, and the same without the rule.
      await release(site, rules, deployment(ns, { replicas: 2, minReadySeconds: 1 }));
      expect(await at(webOf(ns), 'spec.replicas')).toBe(3);
      expect(await at(webOf(ns), 'spec.minReadySeconds')).toBe(1);
      await release(site, [], deployment(ns, { replicas: 2, minReadySeconds: 1 }));
      expect(await at(webOf(ns), 'spec.replicas')).toBe(2);
      await release(site, rules, deployment(ns, { replicas: 2, minReadySeconds: 1 }));
      await edit(webOf(ns), { spec: { replicas: 4 } });
      await observe(site.agent);
      expect(await at(webOf(ns), 'spec.replicas')).toBe(4);
    });

    it('report, ignore or correct drift by name and namespace, behind an annotation of the object', async () => {
      const ns = await newNamespace();
      await using site = await newSite();
      const rules: readonly ObjectRule[] = [
        { kinds: ['ConfigMap'], namespaces: [ns], names: ['left-*'], drift: 'report' },
        { kinds: ['ConfigMap'], names: ['left-*', 'none'], drift: 'ignore' },
      ];
      const own = { annotations: { 'fleet-ferry/drift': 'correct' } };
      const objects = [
        map(ns, 'left-a', { a: '1' }),
        map(ns, 'left-own', { a: '1' }, own),
        map(ns, 'none', { a: '1' }),
        map(ns, 'kept', { a: '1' }),
      ];
      await release(site, rules, ...objects);
      for (const name of ['left-a', 'left-own', 'none', 'kept'])
        await edit(mapOf(ns, name), { data: { a: 'edited' } });
      await observe(site.agent);
      expect(await at(mapOf(ns, 'left-a'), 'data.a')).toBe('edited');
      expect(await at(mapOf(ns, 'left-own'), 'data.a')).toBe('1');
      expect(await at(mapOf(ns, 'none'), 'data.a')).toBe('edited');
      expect(await at(mapOf(ns, 'kept'), 'data.a')).toBe('1');
      expect(await driftOf(site)).toMatchObject([{ key: `/ConfigMap/${ns}/left-a`, stays: true }]);
    });

    it('let objects of a kind be taken over or not, before the rule of the package', async () => {
      const ns = await newNamespace();
      await using site = await newSite();
      await ask('POST', `/api/v1/namespaces/${ns}/configmaps`, {
        metadata: { name: 'm' },
        data: { a: 'theirs' },
      });
      const rule = { kinds: ['ConfigMap'], adopt: 'never' } as const;
      expect(await release(site, [rule], map(ns, 'm', { a: 'ours' }))).toMatchObject([
        { code: 'PATH_CLAIMED' },
      ]);
      expect(await at(mapOf(ns, 'm'), 'data.a')).toBe('theirs');
      expect(await release(site, [], map(ns, 'm', { a: 'ours' }))).toMatchObject([{ outcome: 'created' }]);
      expect(await at(mapOf(ns, 'm'), 'data.a')).toBe('ours');
    });

    it('judge health by an expression, and name it with the reason when the time is over', async () => {
      const ns = await newNamespace();
      await using site = await newSite();
      const health = {
        current: "data.state == 'done'",
        failed: "data.state == 'broken'",
        inProgress: "has(data.hold) && data.hold == 'yes'",
      };
      const rules = [{ kinds: ['ConfigMap'], health, timeout: '3s' }];
      const [late] = await release(site, rules, map(ns, 'm', { other: 'x' }));
      expect(late).toMatchObject({ outcome: 'failed', code: 'CHECK_FAILED' });
      expect(late?.message).toContain(
        `ConfigMap ${ns}/m: data.state == 'done' does not hold (field not found: state)`,
      );
      const [held] = await release(site, rules, map(ns, 'm', { state: 'done', hold: 'yes' }));
      expect(held?.message).toContain("has(data.hold) && data.hold == 'yes' holds");
      expect(await release(site, rules, map(ns, 'm', { state: 'done' }))).toMatchObject([
        { outcome: 'created' },
      ]);
      await site.release([]);
      const waiting = release(
        site,
        [{ ...rules[0], kinds: ['*'], timeout: '1m' }],
        map(ns, 'm', { state: '' }),
      );
      await expect.poll(() => at(mapOf(ns, 'm'), 'data'), { timeout: 20_000 }).toBeDefined();
      await edit(mapOf(ns, 'm'), { data: { state: 'done' } });
      expect(await waiting).toMatchObject([{ outcome: 'created' }]);
    });
  });
};
