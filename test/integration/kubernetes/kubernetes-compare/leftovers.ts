import { describe, expect, it } from 'vitest';
import { observe } from '../../../../agent/observe/observe.ts';
import { definition, deployment, map, UNWATCHED, yaml } from './objects.ts';
import { type CompareWorld, webOf } from './world.ts';

/** What another tool left in an object that the agent takes over. */
export const leftoversOnCluster = ({
  newSite,
  ask,
  at,
  newNamespace,
  kubectl,
  driftOf,
  right,
  writes,
}: CompareWorld): void => {
  describe('fields of other tools in an object that is taken over', () => {
    const TOOLS = [
      'helm',
      'argocd-controller',
      'kustomize-controller',
      'fleetagent',
      'house-deployer',
      'kubectl-create',
    ];
    it.each(TOOLS)('are reported when %s left them, except defaults', async (tool) => {
      const isApplier = /controller|house/.test(tool);
      const ns = await newNamespace();
      const old = deployment(
        ns,
        {},
        {
          env: [
            { name: 'LEVEL', value: 'info' },
            { name: 'DEBUG', value: '1' },
          ],
        },
      );
      const flags = isApplier ? ['apply', '--server-side'] : ['create'];
      await kubectl([...flags, `--field-manager=${tool}`, '-f', '-'], yaml(old));
      await using site = await newSite();
      await right(site, deployment(ns, {}, { env: [{ name: 'LEVEL', value: 'warning' }] }));
      const drift = await driftOf(site);
      expect(drift).toMatchObject([{ what: 'extra', stays: true }]);
      expect(drift[0]?.message).toBe(
        `Deployment ${ns}/web has fields beside those of the package: spec.template.spec.containers[name=a].env[name=DEBUG] of ${tool}`,
      );
      await ask('PATCH', `${webOf(ns)}?fieldManager=${tool}`, {
        spec: {
          template: {
            spec: { containers: [{ name: 'a', image: 'a', env: [{ name: 'LEVEL', value: 'warning' }] }] },
          },
        },
      });
      await observe(site.agent);
      expect(await driftOf(site)).toEqual([]);
    });

    it('are removed when they leave the package, and all of them with fields: strict', async () => {
      const ns = await newNamespace();
      const env = (...names: readonly string[]): Record<string, unknown> => ({
        env: names.map((name) => ({ name, value: 'x' })),
      });
      const flags = ['apply', '--server-side', '--field-manager=kustomize-controller', '-f', '-'];
      await kubectl(flags, yaml(deployment(ns, {}, env('A', 'B', 'C'))));
      const envOf = () => at(webOf(ns), 'spec.template.spec.containers.0.env');
      await using site = await newSite();
      await right(site, deployment(ns, {}, env('A', 'B')));
      await right(site, deployment(ns, {}, env('A')));
      expect(await envOf()).toMatchObject([{ name: 'A' }, { name: 'C' }]);
      expect(await driftOf(site)).toMatchObject([{ what: 'extra' }]);
      const strict = deployment(ns, {}, env('A'));
      const annotations = { ...UNWATCHED, 'fleet-ferry/fields': 'strict' };
      await right(site, { ...strict, metadata: { name: 'web', namespace: ns, annotations } });
      expect(await envOf()).toMatchObject([{ name: 'A' }]);
      expect(await driftOf(site)).toEqual([]);
    });

    it('cost one question about defaults for each version of an object', async () => {
      const ns = await newNamespace();
      await kubectl(['create', '--field-manager=helm', '-f', '-'], yaml(deployment(ns, { replicas: 0 })));
      await using site = await newSite();
      await right(site, deployment(ns));
      const drift = await driftOf(site);
      expect(drift[0]?.message).toMatch(/: spec\.replicas of helm$/);
      const count = await writes();
      expect(await driftOf(site)).toEqual(drift);
      expect(await writes()).toBe(count);
    });

    it('are not found in a definition, a Service and a claim without any', async () => {
      const ns = await newNamespace();
      const objects = [
        definition('lamps', 'Lamp'),
        {
          apiVersion: 'v1',
          kind: 'Service',
          metadata: { name: 's', namespace: ns },
          spec: { selector: { app: 'web' }, ports: [{ port: 80 }] },
        },
        map(ns, 'm', { a: 'b' }),
      ];
      await kubectl(['create', '--field-manager=helm', '-f', '-'], yaml(...objects));
      await kubectl(['wait', '--for=condition=Established', 'crd/lamps.lamps.example']);
      await using site = await newSite();
      await right(site, ...objects);
      expect(await driftOf(site)).toEqual([]);
    });
  });
};
