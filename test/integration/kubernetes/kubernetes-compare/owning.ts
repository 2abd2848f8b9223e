import { describe, expect, it } from 'vitest';
import { reconcile } from '../../../../agent/apply/reconcile.ts';
import { FLEET, pack } from '../../../agent/apply/kubernetes/kubernetes-site.ts';
import { yaml, deployment, map } from './objects.ts';
import { type CompareWorld, mapOf } from './world.ts';

/** Whose an object is. */
export const owningOnCluster = ({
  newSite,
  ask,
  at,
  newNamespace,
  driftOf,
  right,
  writes,
}: CompareWorld): void => {
  describe('ownership of objects', () => {
    it('does not follow from annotations that were copied from an owned object', async () => {
      const ns = await newNamespace();
      const marks = { 'fleet-ferry/assignment': 'app', 'fleet-ferry/fleet': FLEET };
      const copied = (name: string, more: object = marks): Promise<unknown> =>
        ask(
          'POST',
          `/api/v1/namespaces/${ns}/configmaps?fieldManager=operator`,
          map(ns, name, { by: 'operator' }, { annotations: more }),
        );
      await copied('child');
      await copied('other', { ...marks, 'fleet-ferry/fleet': 'elsewhere' });
      await using site = await newSite();
      await right(
        site,
        map(ns, 'parent', { a: '1' }),
        map(ns, 'child', { by: 'us' }),
        map(ns, 'other', { by: 'us' }),
      );
      await ask('DELETE', mapOf(ns, 'parent'));
      await copied('parent');
      expect(await driftOf(site)).toMatchObject([{ what: 'owner' }]);
      await site.release([]);
      for (const name of ['parent', 'child', 'other'])
        expect(await at(mapOf(ns, name), 'data'), name).toEqual({ by: 'operator' });
    });

    it('does not remove a namespace whose objects have copied annotations', async () => {
      const namespace = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'copied' } };
      await using site = await newSite();
      await right(site, namespace, map('copied', 'parent', { a: '1' }));
      const annotations = await at(mapOf('copied', 'parent'), 'metadata.annotations');
      await ask(
        'POST',
        '/api/v1/namespaces/copied/configmaps?fieldManager=operator',
        map('copied', 'child', { a: '1' }, { annotations }),
      );
      await site.release([]);
      expect(await at(mapOf('copied', 'parent'), 'metadata')).toBeUndefined();
      expect(await at(mapOf('copied', 'child'), 'metadata.deletionTimestamp')).toBeUndefined();
    });

    it('is kept without managedFields, as after a restored backup', async () => {
      const ns = await newNamespace();
      await using site = await newSite();
      await right(site, map(ns, 'm', { a: '1', b: '1' }));
      await ask('PATCH', `${mapOf(ns, 'm')}?fieldManager=backup`, { metadata: { managedFields: [{}] } });
      await right(site, map(ns, 'm', { a: '1' }));
      expect(await at(mapOf(ns, 'm'), 'data')).toEqual({ a: '1' });
      await site.release([]);
      expect(await at(mapOf(ns, 'm'), 'metadata')).toBeUndefined();
    });

    it('is kept with the inventory of an older agent, without drift and writes', async () => {
      const ns = await newNamespace();
      await using site = await newSite();
      const objects = [map(ns, 'm', { a: '1' }), deployment(ns)];
      await right(site, ...objects);
      const { db } = site.agent.state;
      db.prepare(`UPDATE owned SET state = json_remove(state, '$.written', '$.before')`).run();
      const written = await writes();
      expect(await driftOf(site)).toEqual([]);
      await site.release([pack('app', `${yaml(...objects)}# another package of the same\n`)]);
      await reconcile(site.agent);
      expect(await writes()).toBe(written);
      const stored = db.prepare(`SELECT json_extract(state, '$.written') FROM owned`).pluck().all();
      expect(stored.every((one) => typeof one === 'string' && one !== '')).toBe(true);
      await right(site, map(ns, 'm', { b: '1' }), deployment(ns));
      expect(await at(mapOf(ns, 'm'), 'data')).toEqual({ b: '1' });
    });
  });
};
