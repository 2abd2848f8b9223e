import { describe, expect, it } from 'vitest';
import type { LiveObject } from '../../../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import type { WantedObject } from '../../../../../../agent/apply/kubernetes/desired/wanted-object.ts';
import {
  currentAsApplied,
  noteApplied,
} from '../../../../../../agent/apply/kubernetes/health/settle/current-as-applied.ts';
import { settleKubernetes } from '../../../../../../agent/apply/kubernetes/health/settle-kubernetes.ts';
import type { DesiredPackage } from '../../../../../../agent/model/target.ts';
import { memoryApi } from '../../memory-api.ts';
import { deployment, type Live, live } from '../live-objects.ts';

const wantedOf = (object: Live): WantedObject => {
  const { apiVersion, kind, metadata } = object as unknown as LiveObject;
  const group = apiVersion.includes('/') ? (apiVersion.split('/')[0] as string) : '';
  const policy = { apply: 'override', recreate: false, prune: true, wait: true } as const;
  const key = `${group}/${kind}/${metadata.name}`;
  const { name, namespace } = metadata;
  return { key, group, apiVersion, kind, name, namespace, policy } as unknown as WantedObject;
};

/** What is kept in mind of an object that was answered like this. */
const noted = (object: Live): ReadonlySet<string> => {
  const desired = {} as DesiredPackage;
  noteApplied(desired, wantedOf(object), object as unknown as LiveObject, true);
  return currentAsApplied(desired);
};

const leaving = { metadata: { name: 'x', deletionTimestamp: '2026-03-01T10:00:00Z', finalizers: ['held'] } };

describe('noteApplied', () => {
  it('caches the answered status of kinds that no later step changes', () => {
    for (const object of [
      live('v1', 'ConfigMap', {}),
      live('v1', 'Service', { spec: { type: 'ClusterIP', clusterIP: '10.0.0.1' } }),
      live('v1', 'Namespace', { status: { phase: 'Active' } }),
    ])
      expect([...noted(object)], JSON.stringify(object)).toHaveLength(1);
  });

  it('excludes objects that are being deleted and objects whose status may be stale', () => {
    for (const object of [
      live('v1', 'ConfigMap', leaving),
      live('v1', 'Namespace', { status: { phase: 'Terminating' }, ...leaving }),
      deployment(),
      live('example.org/v1', 'Robot', { status: { conditions: [{ type: 'Ready', status: 'True' }] } }),
    ])
      expect([...noted(object)], JSON.stringify(object)).toEqual([]);
  });

  it('forgets a status when a later answer differs, and keeps it for one package only', () => {
    const desired = {} as DesiredPackage;
    const object = live('v1', 'ConfigMap', {});
    noteApplied(desired, wantedOf(object), object as unknown as LiveObject, true);
    expect(currentAsApplied({} as DesiredPackage).size).toBe(0);
    noteApplied(desired, wantedOf(object), live('v1', 'ConfigMap', leaving) as unknown as LiveObject, true);
    expect(currentAsApplied(desired).size).toBe(0);
  });

  it('spares listing the object when settling, and counts it as healthy', async () => {
    const api = memoryApi();
    const map = wantedOf(live('v1', 'ConfigMap', {}));
    const settle = (objects: readonly WantedObject[]) =>
      settleKubernetes(api, objects, 10_000, new AbortController().signal, { current: new Set([map.key]) });
    expect(await settle([map])).toEqual([
      { name: 'objects', outcome: 'passed', message: '1 object healthy' },
    ]);
    expect(api.counts).toMatchObject({ list: 0, watch: 0 });
    const other = live('v1', 'ServiceAccount', { metadata: { name: 'robot' } });
    api.put(other);
    expect(await settle([map, wantedOf(other)])).toEqual([
      { name: 'objects', outcome: 'passed', message: '2 objects healthy' },
    ]);
    expect(api.counts).toMatchObject({ list: 1, watch: 0 });
  });
});
