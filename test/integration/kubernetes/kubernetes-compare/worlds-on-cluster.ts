import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { reconcile } from '../../../../agent/apply/reconcile.ts';
import { makeAllDue } from '../../../../agent/store/applied/attempts.ts';
import { pack } from '../../../agent/apply/kubernetes/kubernetes-site.ts';
import { LONG, runs } from '../../../harness/run/long.ts';
import { yaml } from './objects.ts';
import type { CompareWorld } from './world.ts';
import { WORLD_DEFINITIONS, type World, world } from './worlds.ts';

const SEED = Number(process.env['WORLDS_SEED'] ?? 20_261_128);

type Fields = Record<string, unknown>;

const TYPES = [
  'configmaps secrets serviceaccounts services deployments.apps daemonsets.apps statefulsets.apps',
  'networkpolicies.networking.k8s.io poddisruptionbudgets.policy roles.rbac.authorization.k8s.io cronjobs.batch',
  'worlds.worlds.example typeds.worlds.example',
].flatMap((line) => line.split(' '));

/** The objects of a package in a namespace, as YAML of JSON with whole numbers beyond 2^53. */
const written = (objects: readonly Fields[], namespace: string): string =>
  yaml(
    ...objects.map((object) => ({ ...object, metadata: { ...(object['metadata'] as Fields), namespace } })),
  ).replaceAll('"LONG"', '9007199254740993');

/** Apply, look twice: nothing more runs, nothing is flagged, nothing is lost; remove: the cluster is as before. */
export const worldsOnCluster = ({ newSite, newNamespace, kubectl, driftOf, writes }: CompareWorld): void => {
  describe('worlds of generated objects', () => {
    const bringKinds = async (): Promise<void> => {
      await kubectl(['apply', '-f', '-'], yaml(...WORLD_DEFINITIONS));
      const names = WORLD_DEFINITIONS.map(({ metadata }) => `crd/${metadata.name}`);
      await kubectl(['wait', '--for=condition=Established', ...names]);
      // A definition is established before discovery lists its kind.
      const kinds = () =>
        kubectl(['api-resources', '--api-group=worlds.example', '--cached=false', '-o', 'name']);
      await expect
        .poll(kinds, { timeout: 20_000 })
        .toMatch(/^typeds\.worlds\.example$[^]*^worlds\.worlds\.example$/m);
    };

    /** All objects of a namespace without what the server and its controllers count. */
    const snapshot = async (ns: string): Promise<readonly unknown[]> => {
      const shown = await kubectl(['get', TYPES.join(','), '-n', ns, '-o', 'json', '--show-managed-fields']);
      const { items } = JSON.parse(shown) as { items: readonly Fields[] };
      return items.filter(isKept).map(withoutCounters).toSorted();
    };

    const goesThrough = async ({ first, second, foreign, tool }: World): Promise<void> => {
      const ns = await newNamespace();
      const there = first.filter(({ metadata }) => foreign.includes((metadata as { name: string }).name));
      if (there.length > 0) {
        const verb = tool === 'argocd-controller' ? ['apply', '--server-side'] : ['create'];
        await kubectl([...verb, `--field-manager=${tool}`, '-f', '-'], written(there, ns));
      }
      const before = await snapshot(ns);
      await using site = await newSite();
      for (const objects of [first, second]) {
        const files = written(objects, ns);
        for (const result of await site.release([pack('app', files)]))
          expect(result, result.message).not.toMatchObject({ outcome: 'failed' });
        for (let look = 0; look < 2; look += 1) {
          const count = await writes();
          const flagged = (await driftOf(site)).filter(({ what }) => what !== 'extra' || there.length === 0);
          expect(flagged).toEqual([]);
          makeAllDue(site.agent.state, site.agent.edge.now());
          expect(await reconcile(site.agent)).toEqual([]);
          if (there.length === 0) expect(await writes()).toBe(count);
        }
        const count = await writes();
        await site.release([pack('app', `${files}# another package of the same\n`)]);
        if (there.length === 0) expect(await writes()).toBe(count);
      }
      for (const result of await site.release([])) expect(result).not.toMatchObject({ outcome: 'failed' });
      expect(await snapshot(ns)).toEqual(before);
    };

    it(`leaves each as it was (WORLDS_SEED=${SEED})`, { timeout: LONG ? 1_200_000 : 180_000 }, async () => {
      await bringKinds();
      await fc.assert(fc.asyncProperty(world, goesThrough), {
        seed: SEED,
        numRuns: runs(200, 20),
        endOnFailure: process.env['WORLDS_SHRINK'] === undefined,
      });
    });
  });
};

const isKept = ({ kind, metadata }: Fields): boolean => {
  const { name } = metadata as { name: string };
  return !(kind === 'ServiceAccount' && name === 'default') && name !== 'kube-root-ca.crt';
};

const withoutCounters = ({ status: _, ...object }: Fields): string => {
  const {
    resourceVersion: _r,
    generation: _g,
    annotations = {},
    managedFields = [],
    ...metadata
  } = object['metadata'] as Fields;
  const {
    'deployment.kubernetes.io/revision': _n,
    'deprecated.daemonset.template.generation': _t,
    ...notes
  } = annotations as Fields;
  const managers = (managedFields as readonly Fields[])
    .filter(({ manager, subresource }) => subresource === undefined && manager !== 'kube-controller-manager')
    .map(({ time: _time, ...entry }) => JSON.stringify(entry))
    .toSorted();
  return JSON.stringify({ ...object, metadata: { ...metadata, annotations: notes, managers } });
};
