import { describe, expect, it } from 'vitest';
import { observe } from '../../../../agent/observe/observe.ts';
import { definition, deployment, map, UNWATCHED, yaml } from './objects.ts';
import { type CompareWorld, webOf } from './world.ts';

/** What another tool left in an object that the agent takes over. */
export const leftoversOnCluster = ({
  newSite,
  at,
  newNamespace,
  kubectl,
  driftOf,
  right,
  writes,
}: CompareWorld): void => {
  describe('fields of other tools in an object that is taken over', () => {
    const env = (...names: readonly string[]): Record<string, unknown> => ({
      env: names.map((name) => ({ name, value: 'x' })),
    });
    const envOf = (ns: string) => at(webOf(ns), 'spec.template.spec.containers.0.env');
    const apply = (tool: string, object: object): Promise<string> =>
      kubectl(['apply', '--server-side', `--field-manager=${tool}`, '-f', '-'], yaml(object));

    const TOOLS = ['helm', 'argocd-controller', 'kustomize-controller', 'fleetagent', 'kubectl-create'];
    it.each(TOOLS)('are removed with the takeover when %s left them', async (tool) => {
      const ns = await newNamespace();
      const old = deployment(ns, {}, env('A', 'B'));
      if (/controller/.test(tool)) await apply(tool, old);
      else await kubectl(['create', `--field-manager=${tool}`, '-f', '-'], yaml(old));
      await using site = await newSite();
      await right(site, deployment(ns, {}, env('A')));
      expect(await envOf(ns)).toEqual([{ name: 'A', value: 'x' }]);
      expect(await driftOf(site)).toEqual([]);
    });

    it('are reported when a tool left them that the agent does not know', async () => {
      const ns = await newNamespace();
      await apply('house-deployer', deployment(ns, {}, env('A', 'B')));
      await using site = await newSite();
      await right(site, deployment(ns, {}, env('A')));
      const drift = await driftOf(site);
      expect(drift).toMatchObject([{ what: 'extra', stays: true }]);
      expect(drift[0]?.message).toBe(
        `Deployment ${ns}/web has fields beside those of the package: spec.template.spec.containers[name=a].env[name=B] of house-deployer`,
      );
      await apply('house-deployer', deployment(ns, {}, env('A')));
      await observe(site.agent);
      expect(await driftOf(site)).toEqual([]);
    });

    it('are reported when it writes them later, and removed with fields: strict', async () => {
      const ns = await newNamespace();
      const flux = 'kustomize-controller';
      await apply(flux, deployment(ns, {}, env('A', 'B')));
      await using site = await newSite();
      await right(site, deployment(ns, {}, env('A', 'B')));
      await apply(flux, {
        ...deployment(ns),
        spec: { template: { spec: { containers: [{ name: 'a', ...env('C') }] } } },
      });
      await right(site, deployment(ns, {}, env('A')));
      expect(await envOf(ns)).toMatchObject([{ name: 'A' }, { name: 'C' }]);
      expect(await driftOf(site)).toMatchObject([{ what: 'extra' }]);
      const annotations = { ...UNWATCHED, 'fleet-ferry/fields': 'strict' };
      const strict = deployment(ns, {}, env('A'));
      await right(site, { ...strict, metadata: { name: 'web', namespace: ns, annotations } });
      expect(await envOf(ns)).toMatchObject([{ name: 'A' }]);
      expect(await driftOf(site)).toEqual([]);
    });

    it('cost one question about defaults for each version of an object', async () => {
      const ns = await newNamespace();
      await kubectl(['create', '--field-manager=own', '-f', '-'], yaml(deployment(ns, { replicas: 0 })));
      await using site = await newSite();
      await right(site, deployment(ns));
      const drift = await driftOf(site);
      expect(drift[0]?.message).toMatch(/: spec\.replicas of own$/);
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
