import { expect, it } from 'vitest';
import type { KubernetesApi, LiveObject } from '../../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { awaitGone } from '../../../../../agent/apply/kubernetes/execute/await-gone.ts';

const REF = { apiVersion: 'v1', kind: 'Namespace', name: 'shop' };
const { signal } = new AbortController();

const await0 = (live: Partial<LiveObject>) => {
  const { apiVersion, kind, name } = REF;
  const deletionTimestamp = '2026-11-21T08:00:00Z';
  const object = {
    apiVersion,
    kind,
    ...live,
    metadata: { name, uid: 'u', deletionTimestamp, ...live.metadata },
  };
  const api = { read: async () => object } as Partial<KubernetesApi> as KubernetesApi;
  return awaitGone(api, REF, 'u', 0, signal);
};

it("awaitGone reports the server's condition of a namespace whose deletion does not end", async () => {
  const left =
    'Some content in the namespace has finalizers remaining: example.com/never in 1 resource instances';
  const conditions = [
    {
      type: 'NamespaceDeletionDiscoveryFailure',
      status: 'False',
      message: 'All resources successfully discovered',
    },
    { type: 'NamespaceFinalizersRemaining', status: 'True', message: left },
  ];
  const held = await await0({ status: { conditions } });
  expect(held).toEqual({
    since: '2026-11-21T08:00:00Z',
    message: `Namespace shop is being deleted since 2026-11-21T08:00:00Z: ${left}`,
  });
});

it('awaitGone names the finalizers of any other object that is not deleted', async () => {
  const metadata = { name: 'shop', finalizers: ['example.com/never'] };
  expect((await await0({ metadata }))?.message).toContain('finalizers hold it: example.com/never');
});
