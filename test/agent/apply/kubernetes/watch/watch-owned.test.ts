import { describe, expect, it } from 'vitest';
import type { ObjectRef } from '../../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { watchOwned } from '../../../../../agent/apply/kubernetes/watch/watch-owned.ts';
import { watchedGroups } from '../../../../../agent/apply/kubernetes/watch/watched-groups.ts';
import { type MemoryApi, memoryApi } from '../memory-api.ts';
import { type VirtualClock, virtualClock } from '../virtual-clock.ts';

const REF: ObjectRef = { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'web', name: 'order-api' };
const KEY = 'apps/Deployment/web/order-api';

const OURS = { 'f:spec': { 'f:replicas': {}, 'f:template': { 'f:image': {} } } };

/** Metadata as the server has it after our apply, and what others did since. */
const object = (
  more: object = {},
  fields: object = OURS,
  time = '2026-03-01T10:00:00Z',
  others: object[] = [],
) => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: {
    namespace: 'web',
    name: 'order-api',
    uid: 'one',
    managedFields: [
      { manager: 'fleet-agent', operation: 'Apply', apiVersion: 'apps/v1', time, fieldsV1: fields },
      ...others,
    ],
    ...more,
  },
});

const watched = async (
  act: (world: { readonly api: MemoryApi; readonly clock: VirtualClock }) => void,
  forMs = 60_000,
): Promise<readonly (readonly string[])[]> => {
  using clock = virtualClock();
  const api = memoryApi();
  api.put(object());
  const told: (readonly string[])[] = [];
  const controller = new AbortController();
  act({ api, clock });
  clock.at(forMs, () => controller.abort());
  await watchOwned(api, [REF], (keys) => void told.push(keys), controller.signal, { clock });
  return told;
};

describe('watchOwned', () => {
  it('reports an object when another manager takes a field of the agent', async () => {
    const taken = { 'f:spec': { 'f:template': { 'f:image': {} } } };
    const told = await watched(({ api, clock }) => clock.at(5000, () => api.put(object({}, taken))));
    expect(told).toEqual([[KEY]]);
  });

  it('reports an object that is deleted, is being deleted, or was replaced', async () => {
    const deletionTimestamp = '2026-03-01T10:01:00Z';
    const told = await watched(({ api, clock }) => {
      clock.at(5000, () => api.put(object({ deletionTimestamp })));
      clock.at(15_000, () => api.drop(object()));
      clock.at(25_000, () => api.put(object({ uid: 'two' })));
      clock.at(35_000, () => api.put(object({ uid: 'two' }, {})));
    });
    expect(told).toEqual([[KEY], [KEY], [KEY]]);
  });

  it('ignores a changed status, fields of others, and applies of the agent', async () => {
    const status = {
      manager: 'kube-controller-manager',
      operation: 'Update',
      subresource: 'status',
      time: 'x',
    };
    const told = await watched(({ api, clock }) => {
      clock.at(1000, () => api.put(object({ generation: 2 }, OURS, undefined, [status])));
      clock.at(2000, () => api.put(object({ annotations: { note: 'by hand' } })));
      clock.at(3000, () => api.put(object({}, { 'f:spec': {} }, '2026-03-01T10:00:03Z')));
      clock.at(4000, () =>
        api.put({ ...object(), metadata: { ...object().metadata, name: 'somebody-elses' } }),
      );
    });
    expect(told).toEqual([]);
  });

  it('reports many objects at once, sorted by key', async () => {
    using clock = virtualClock();
    const api = memoryApi();
    const controller = new AbortController();
    const names = ['c', 'a', 'b'];
    const named = (name: string) => ({ ...object(), metadata: { ...object().metadata, name } });
    names.forEach((name) => api.put(named(name)));
    clock.at(5000, () => names.forEach((name) => api.drop(named(name))));
    clock.at(9000, () => controller.abort());
    const told: (readonly string[])[] = [];
    const refs = names.map((name) => ({ ...REF, name }));
    await watchOwned(api, refs, (keys) => void told.push(keys), controller.signal, { clock });
    expect(told).toEqual([['a', 'b', 'c'].map((name) => `apps/Deployment/web/${name}`)]);
  });

  it('reports what happened while the server was away or compacted its history', async () => {
    const told = await watched(({ api, clock }) => {
      clock.at(5000, api.goAway);
      clock.at(6000, () => api.put(object({}, { 'f:spec': {} })));
      clock.at(20_000, api.comeBack);
      clock.at(40_000, () => {
        api.drop(object());
        api.compact();
      });
    });
    expect(told).toEqual([[KEY], [KEY]]);
  });

  it('lists at intervals where watching is denied, and asks again later where listing is denied', async () => {
    const told = await watched(({ api, clock }) => {
      api.deny('watch');
      clock.at(5000, () => api.drop(object()));
    }, 200_000);
    expect(told).toEqual([[KEY]]);
    expect(await watched(({ api }) => api.deny('list'))).toEqual([]);
    const later = await watched(({ api, clock }) => {
      clock.at(1000, () => {
        api.deny('list');
        api.compact();
      });
      clock.at(5000, () => {
        api.allow('list');
        api.drop(object());
      });
    }, 700_000);
    expect(later).toEqual([[KEY]]);
  });

  it('sends one list and one watch in a day without changes', async () => {
    using clock = virtualClock();
    const api = memoryApi();
    api.put(object());
    const controller = new AbortController();
    clock.at(24 * 3_600_000, () => controller.abort());
    await watchOwned(api, [REF], () => {}, controller.signal, { clock });
    expect(api.counts).toMatchObject({ list: 1, watch: 1 });
  });
});

describe('watchedGroups', () => {
  const refs = (kind: string, ...namespaces: string[]): readonly ObjectRef[] =>
    namespaces.map((namespace) => ({ apiVersion: 'v1', kind, namespace, name: 'x' }));
  const shown = (owned: readonly ObjectRef[], most: number): readonly string[] =>
    watchedGroups(owned, most).map(
      ({ type, namespace, watch }) => `${type.kind} ${namespace ?? '*'} ${watch}`,
    );

  it('has one group for each kind and namespace while these are few', () => {
    expect(shown([...refs('Secret', 'a', 'b'), ...refs('ConfigMap', 'a')], 4)).toEqual([
      'ConfigMap a true',
      'Secret a true',
      'Secret b true',
    ]);
  });

  it('has one group for a kind of many namespaces, and groups without a watch beyond the limit', () => {
    const owned = [...refs('Secret', 'a', 'b', 'c'), ...refs('ConfigMap', 'a'), ...refs('Service', 'b')];
    expect(shown(owned, 3)).toEqual(['ConfigMap a true', 'Service b true', 'Secret * true']);
    expect(shown(owned, 2)).toEqual(['ConfigMap * true', 'Service * true', 'Secret * false']);
  });

  it('maps each group to the keys of its objects in the inventory', () => {
    const [group] = watchedGroups(refs('Secret', 'a'));
    expect([...(group?.keys ?? [])]).toEqual(['/Secret/a/x']);
  });
});
