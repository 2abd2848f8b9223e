import { describe, expect, it } from 'vitest';
import { reconcile } from '../../../../agent/apply/reconcile.ts';
import { makeAllDue } from '../../../../agent/store/applied/attempts.ts';
import { pack } from '../../../agent/apply/kubernetes/kubernetes-site.ts';
import { LONG, runs } from '../../../harness/run/long.ts';
import { tryWorlds } from '../../../harness/run/try-worlds.ts';
import { type DefinitionWorld, definitionOf, definitionWorld, thingsOf } from './definition-worlds.ts';
import { exactYaml } from './objects.ts';
import { withoutCounters } from './snapshot.ts';
import type { CompareWorld } from './world.ts';
import { WORLDS_SEED } from './worlds.ts';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

/** Apply, look twice, change the definition, look twice, remove: the cluster is as before, and what is of others is there. */
export const definitionWorldsOnCluster = ({
  newSite,
  newNamespace,
  at,
  kubectl,
  driftOf,
  writes,
}: CompareWorld): void => {
  describe('worlds of generated definitions', () => {
    /**
     * The definition and all objects of its kind, without what the server counts, and without versions that are not served: one of a
     * release stays if objects of others may be stored in it.
     */
    const snapshot = async (group: string): Promise<readonly string[]> => {
      const url = `${DEFINITIONS}/things.${group}`;
      const metadata = await at(url, 'metadata');
      if (metadata === undefined) return [];
      // A definition that changed is served anew a moment later.
      const list = () => at(`/apis/${group}/v1/things`, 'items');
      await expect.poll(list, { timeout: 20_000 }).toBeDefined();
      const items = (await list()) as readonly Record<string, unknown>[];
      const spec = (await at(url, 'spec')) as { readonly versions: readonly { readonly served: boolean }[] };
      const versions = spec.versions.filter(({ served }) => served);
      return [{ metadata, spec: { ...spec, versions } }, ...items].map(withoutCounters);
    };

    const goesThrough = async (world: DefinitionWorld): Promise<void> => {
      const namespace = await newNamespace();
      const group = `${namespace}.example`;
      const [first] = world.releases;
      const isForeign = world.foreign !== 'nothing';
      const hasOther = world.foreign === 'the definition and an object';
      if (isForeign && first?.definition) {
        const { definition } = first;
        const [other] = thingsOf(
          world,
          { definition, things: [{ name: 'theirs', newest: false, picks: [0, 0, 0, 0, 0, 0, 0, 0] }] },
          { group, namespace },
        );
        await kubectl(['create', '-f', '-'], exactYaml(definitionOf(world, definition, group)));
        await kubectl(['wait', '--for=condition=Established', `crd/things.${group}`]);
        await expect.poll(() => at(`/apis/${group}/v1/things`, 'items'), { timeout: 20_000 }).toEqual([]);
        if (hasOther) await kubectl(['create', '-f', '-'], exactYaml(other ?? {}));
      }
      const before = await snapshot(group);
      await using site = await newSite();
      for (const release of world.releases) {
        const files = exactYaml(
          ...(release.definition ? [definitionOf(world, release.definition, group)] : []),
          ...thingsOf(world, release, { group, namespace }),
        );
        for (const result of await site.release(files === '' ? [] : [pack('app', files)]))
          expect(result, result.message).not.toMatchObject({ outcome: 'failed' });
        for (let look = 0; look < 2; look += 1) {
          const count = await writes();
          const flagged = (await driftOf(site)).filter(({ what }) => what !== 'extra' || !isForeign);
          expect(flagged).toEqual([]);
          makeAllDue(site.agent.state, site.agent.edge.now());
          expect(await reconcile(site.agent)).toEqual([]);
          if (!isForeign) expect(await writes()).toBe(count);
        }
      }
      for (const result of await site.release([])) expect(result).not.toMatchObject({ outcome: 'failed' });
      expect(await snapshot(group)).toEqual(before);
      if (isForeign) await kubectl(['delete', 'crd', `things.${group}`]);
    };

    it(
      `reach the desired state and are restored by their removal (WORLDS_SEED=${WORLDS_SEED})`,
      { timeout: LONG ? 3_600_000 : 180_000 },
      () => tryWorlds({ worlds: definitionWorld, seed: WORLDS_SEED, numRuns: runs(200, 100) }, goesThrough),
    );
  });
};
