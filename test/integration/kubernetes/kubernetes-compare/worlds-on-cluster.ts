import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { reconcile } from '../../../../agent/apply/reconcile.ts';
import { makeAllDue } from '../../../../agent/store/applied/attempts.ts';
import { parts } from '../../../harness/parts.ts';
import { LONG, runs } from '../../../harness/run/long.ts';
import { tryWorlds } from '../../../harness/run/try-worlds.ts';
import { writeFiles } from '../../../scheduler/file-tree.ts';
import {
  applicationFiles,
  applicationWorld,
  makeApplications,
} from '../../scheduler/applications/application-world.ts';
import { chartOf, type ChartWorld, chartWorld, keptNames } from './chart-of.ts';
import { exactYaml, yaml } from './objects.ts';
import { withoutCounters } from './snapshot.ts';
import type { CompareWorld } from './world.ts';
import { WORLD_DEFINITIONS, WORLDS_SEED, type World, world } from './worlds.ts';

type Fields = Record<string, unknown>;

/** The files of the package that brings the objects. */
type PackageOf = (objects: readonly Fields[], namespace: string) => Promise<Readonly<Record<string, string>>>;

const TYPES = [
  'configmaps secrets serviceaccounts services deployments.apps daemonsets.apps statefulsets.apps',
  'networkpolicies.networking.k8s.io poddisruptionbudgets.policy roles.rbac.authorization.k8s.io cronjobs.batch',
  'worlds.worlds.example typeds.worlds.example',
].flatMap((line) => line.split(' '));

/** The objects of a package in a namespace. */
const written = (objects: readonly Fields[], namespace: string): string =>
  exactYaml(
    ...objects.map((object) => ({ ...object, metadata: { ...(object['metadata'] as Fields), namespace } })),
  );

/** Apply, look twice: nothing more runs, nothing is flagged, nothing is lost; remove: the cluster is as before. */
export const worldsOnCluster = ({
  newSite,
  newNamespace,
  kubectl,
  forgetKinds,
  driftOf,
  writes,
}: CompareWorld): void => {
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
      forgetKinds();
    };

    /** All objects of a namespace without what the server and its controllers count. */
    const snapshot = async (ns: string, kept: readonly string[]): Promise<readonly unknown[]> => {
      const shown = await kubectl(['get', TYPES.join(','), '-n', ns, '-o', 'json', '--show-managed-fields']);
      const { items } = JSON.parse(shown) as { items: readonly Fields[] };
      return items
        .filter(isOfPackages)
        .filter(({ metadata }) => !kept.includes((metadata as { name: string }).name))
        .map(withoutCounters)
        .toSorted();
    };

    const goesThrough = async (
      { first, second, foreign, tool }: World,
      packageOf: PackageOf,
      kept: readonly string[] = [],
    ): Promise<void> => {
      const ns = await newNamespace();
      const there = first.filter(({ metadata }) => foreign.includes((metadata as { name: string }).name));
      if (there.length > 0) {
        const verb = tool === 'argocd-controller' ? ['apply', '--server-side'] : ['create'];
        await kubectl([...verb, `--field-manager=${tool}`, '-f', '-'], written(there, ns));
      }
      const before = await snapshot(ns, kept);
      await using site = await newSite();
      for (const objects of [first, second]) {
        const files = await packageOf(objects, ns);
        for (const result of await site.release([{ id: 'app', files }]))
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
        await site.release([
          { id: 'app', files: { ...files, 'same.yaml': '# another package of the same\n' } },
        ]);
        if (there.length === 0) expect(await writes()).toBe(count);
      }
      for (const result of await site.release([])) expect(result).not.toMatchObject({ outcome: 'failed' });
      expect(await snapshot(ns, kept)).toEqual(before);
      for (const name of kept) await expectKept(ns, name);
    };

    /** What stays is there, and says no more whose it was. */
    const expectKept = async (ns: string, name: string): Promise<void> => {
      const shown = await kubectl(['get', TYPES.join(','), '-n', ns, '-o', 'json']);
      const { items } = JSON.parse(shown) as { items: readonly Fields[] };
      const found = items.find(({ metadata }) => (metadata as { name: string }).name === name);
      expect(found, name).toBeDefined();
      expect(JSON.stringify(found?.['metadata'])).not.toMatch(/fleet-ferry\/(?:assignment|fleet)"/);
    };

    it(`reach the desired state and are restored by their removal (WORLDS_SEED=${WORLDS_SEED})`, {
      timeout: LONG ? 3_600_000 : 180_000,
    }, async () => {
      await bringKinds();
      await tryWorlds({ worlds: world, seed: WORLDS_SEED, numRuns: runs(200, 40) }, (one) =>
        goesThrough(one, async (objects, ns) => ({ 'app.yaml': written(objects, ns) })),
      );
    });

    it.skipIf(!parts.helm.present)(
      `reach the desired state when Helm renders them, and are restored (WORLDS_SEED=${WORLDS_SEED})`,
      {
        timeout: LONG ? 3_600_000 : 180_000,
      },
      async () => {
        await bringKinds();
        const charted = async ({ world: one, ways }: ChartWorld): Promise<void> => {
          const render = await chartRenderer(parts.helm.present ? parts.helm.path : '');
          const kept = keptNames([...one.first, ...one.second], ways);
          await goesThrough(one, (objects, ns) => render(chartOf(objects, ways), ns), kept);
        };
        await tryWorlds({ worlds: chartWorld, seed: WORLDS_SEED, numRuns: runs(200, 100) }, charted);
      },
    );
  });
};

const NAMESPACE = 'prod-edge-shop-web';

/** The office's rendering of a chart, in a platform of its own. */
const chartRenderer = async (helm: string) => {
  const directory = await applicationWorld(applicationFiles('{type: helm, path: chart, hooks: keep}', {}));
  const chart = join(directory, 'apps/shop/chart');
  return async (
    files: Readonly<Record<string, string>>,
    ns: string,
  ): Promise<Readonly<Record<string, string>>> => {
    await rm(chart, { recursive: true, force: true });
    await writeFiles(chart, files);
    const made = await makeApplications(directory, [helm]);
    expect(made.held).toEqual([]);
    return Object.fromEntries(
      Object.entries(made.files).map(([path, text]) => [path, text.replaceAll(NAMESPACE, ns)]),
    );
  };
};

const isOfPackages = ({ kind, metadata }: Fields): boolean => {
  const { name } = metadata as { name: string };
  return !(kind === 'ServiceAccount' && name === 'default') && name !== 'kube-root-ca.crt';
};
