import { describe, expect, it } from 'vitest';
import { observe } from '../../../../agent/observe/observe.ts';
import { UNWATCHED, definition, deployment, autoscaler, map } from './objects.ts';
import { type CompareWorld, webOf, mapOf } from './world.ts';

/** What is compared, and what is taken out of an object or left in it. */
export const formsOnCluster = ({
  newSite,
  ask,
  at,
  newNamespace,
  kubectl,
  driftOf,
  right,
  writes,
}: CompareWorld): void => {
  describe('changed forms of an object', () => {
    it('distinguish absent, null and empty, in built-in kinds and custom resources', async () => {
      const ns = await newNamespace();
      const policy = {
        apiVersion: 'networking.k8s.io/v1',
        kind: 'NetworkPolicy',
        metadata: { name: 'db', namespace: ns },
        spec: {
          podSelector: {},
          policyTypes: ['Ingress'],
          ingress: [{ from: [{ podSelector: { matchLabels: { a: 'b' } } }] }],
        },
      };
      const scraper = {
        apiVersion: 'scrapers.example/v1',
        kind: 'Scraper',
        metadata: { name: 'all', namespace: ns, annotations: UNWATCHED },
        spec: { everything: {}, nothing: [], unset: null, one: { a: 'b' } },
      };
      await using site = await newSite();
      await right(site, policy, definition('scrapers', 'Scraper'), scraper);
      const written = await writes();
      expect(await driftOf(site)).toEqual([]);
      const path = `/apis/scrapers.example/v1/namespaces/${ns}/scrapers/all`;
      expect(await at(path, 'spec')).toEqual(scraper.spec);
      expect(await writes()).toBe(written);
      const edits: readonly (readonly [string, string, object])[] = [
        ['networkpolicy', 'db', { op: 'add', path: '/spec/ingress/0/from/0/namespaceSelector', value: {} }],
        ['scraper', 'all', { op: 'remove', path: '/spec/everything' }],
        ['scraper', 'all', { op: 'remove', path: '/spec/nothing' }],
        ['scraper', 'all', { op: 'remove', path: '/spec/unset' }],
        ['scraper', 'all', { op: 'replace', path: '/spec/nothing', value: null }],
        ['scraper', 'all', { op: 'replace', path: '/spec/everything', value: [] }],
      ];
      for (const [kind, name, edit] of edits) {
        await kubectl(['patch', kind, name, '-n', ns, '--type=json', '-p', JSON.stringify([edit])]);
        expect(await driftOf(site), JSON.stringify(edit)).toMatchObject([{ what: 'content' }]);
        await observe(site.agent);
        expect(await driftOf(site), JSON.stringify(edit)).toEqual([]);
      }
      expect(await at(path, 'spec')).toEqual(scraper.spec);
    });

    const FORMS: readonly (readonly [
      name: string,
      first: (ns: string) => Record<string, unknown>,
      second: (ns: string) => Record<string, unknown>,
    ])[] = [
      [
        'Recreate for the default strategy',
        (ns) => deployment(ns),
        (ns) => deployment(ns, { strategy: { type: 'Recreate' } }),
      ],
      [
        'another handler for a probe',
        (ns) => deployment(ns, {}, { livenessProbe: { httpGet: { path: '/', port: 80 } } }),
        (ns) => deployment(ns, {}, { livenessProbe: { exec: { command: ['true'] } } }),
      ],
      [
        'a volume of a type for the default one',
        (ns) => deployment(ns, {}, {}, { volumes: [{ name: 'v' }] }),
        (ns) => deployment(ns, {}, {}, { volumes: [{ name: 'v', configMap: { name: 'm' } }] }),
      ],
      [
        'a volume of another type',
        (ns) => deployment(ns, {}, {}, { volumes: [{ name: 'v', configMap: { name: 'm' } }] }),
        (ns) => deployment(ns, {}, {}, { volumes: [{ name: 'v', secret: { secretName: 's' } }] }),
      ],
      [
        'a value for a reference, of a variable',
        (ns) =>
          deployment(
            ns,
            {},
            { env: [{ name: 'E', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } }] },
          ),
        (ns) => deployment(ns, {}, { env: [{ name: 'E', value: 'x' }] }),
      ],
    ];
    it.each(FORMS)('remove a default that the new form forbids: %s', async (_, first, second) => {
      const ns = await newNamespace();
      await using site = await newSite();
      await right(site, first(ns));
      await right(site, second(ns));
      expect(await driftOf(site)).toEqual([]);
      await right(site, first(ns));
      expect(await driftOf(site)).toEqual([]);
    });

    it('remove what a controller injected only if the new form forbids it', async () => {
      const conversion = {
        strategy: 'Webhook',
        webhook: {
          conversionReviewVersions: ['v1'],
          clientConfig: { service: { namespace: 'default', name: 'hook', path: '/convert' } },
        },
      };
      const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/orders.orders.example';
      await using site = await newSite();
      await right(site, definition('orders', 'Order', { conversion }));
      const bundle = await kubectl([
        'get',
        'cm',
        '-n',
        'default',
        'kube-root-ca.crt',
        '-o',
        'jsonpath={.data.ca\\.crt}',
      ]);
      const caBundle = Buffer.from(bundle).toString('base64');
      await ask('PATCH', `${path}?fieldManager=cainjector`, {
        spec: { conversion: { webhook: { clientConfig: { caBundle } } } },
      });
      expect(await driftOf(site)).toEqual([]);
      const moved = {
        ...conversion,
        webhook: { ...conversion.webhook, conversionReviewVersions: ['v1', 'v1beta1'] },
      };
      await right(site, definition('orders', 'Order', { conversion: moved }));
      expect(await at(path, 'spec.conversion.webhook.clientConfig.caBundle')).toBe(caBundle);
      await right(site, definition('orders', 'Order'));
      expect(await at(path, 'spec.conversion')).toEqual({ strategy: 'None' });
      expect(await driftOf(site)).toEqual([]);
      await site.release([]);
    });

    it('empty a map whose member the server fills with its default', async () => {
      const ns = await newNamespace();
      const none = { type: 'string', nullable: true, default: 'd' };
      const tags = { type: 'array', items: { type: 'string' }, 'x-kubernetes-list-type': 'set' };
      const port = { type: 'integer', default: 80 };
      const items = {
        type: 'array',
        'x-kubernetes-list-type': 'map',
        'x-kubernetes-list-map-keys': ['name'],
        items: { type: 'object', required: ['name'], properties: { name: { type: 'string' }, port } },
      };
      const spec = { type: 'object', properties: { none, tags, items } };
      const lids = definition(
        'lids',
        'Lid',
        {},
        {
          'x-kubernetes-preserve-unknown-fields': undefined,
          properties: { spec },
        },
      );
      const lid = (fields: object) => ({
        apiVersion: 'lids.example/v1',
        kind: 'Lid',
        metadata: { name: 'one', namespace: ns, annotations: UNWATCHED },
        spec: fields,
      });
      const path = `/apis/lids.example/v1/namespaces/${ns}/lids/one`;
      await using site = await newSite();
      const emptied = [{}, { none: 'd' }] as const;
      for (const [wanted, stored] of [
        [
          { none: 'x', tags: ['b', 'a'] },
          { none: 'x', tags: ['b', 'a'] },
        ],
        emptied,
        [{ items: [{ name: 'a' }] }, { none: 'd', items: [{ name: 'a', port: 80 }] }],
        emptied,
      ]) {
        await right(site, lids, lid(wanted));
        expect(await at(path, 'spec')).toEqual(stored);
        expect(await driftOf(site)).toEqual([]);
      }
      await site.release([]);
    });

    it('keep the replicas of a workload that is handed to an autoscaler, then and later', async () => {
      const ns = await newNamespace();
      await using site = await newSite();
      await right(site, deployment(ns, { replicas: 4 }));
      await right(site, deployment(ns), autoscaler(ns, 4));
      expect(await at(webOf(ns), 'spec.replicas')).toBe(4);
      expect(await driftOf(site)).toEqual([]);
      await right(site, deployment(ns, {}, { args: ['x'] }), autoscaler(ns, 6));
      await expect.poll(() => at(webOf(ns), 'spec.replicas'), { timeout: 40_000 }).toBe(6);
      await right(site, deployment(ns, {}, { args: ['y'] }), autoscaler(ns, 6));
      expect(await at(webOf(ns), 'spec.replicas')).toBe(6);
      expect(await driftOf(site)).toEqual([]);
      await using other = await newSite();
      const second = await newNamespace();
      await right(other, deployment(second, { replicas: 3 }));
      await right(other, deployment(second));
      expect(await at(webOf(second), 'spec.replicas')).toBe(1);
    });

    it('remove what the agent wrote and a person changed, but not what a controller owns', async () => {
      const ns = await newNamespace();
      const data = { keep: '1', edited: '1', injected: '1' };
      const env = (names: readonly string[]) => ({ env: names.map((name) => ({ name, value: 'ours' })) });
      await using site = await newSite();
      await right(site, map(ns, 'm', data), deployment(ns, {}, env(['A', 'B'])));
      await ask('PATCH', `${mapOf(ns, 'm')}?fieldManager=kubectl-edit`, { data: { edited: '2' } });
      await ask('PATCH', `${mapOf(ns, 'm')}?fieldManager=injector`, { data: { injected: '2' } });
      await kubectl(['set', 'env', '-n', ns, 'deployment/web', 'B=theirs']);
      await right(site, map(ns, 'm', { keep: '1' }), deployment(ns, {}, env(['A'])));
      expect(await at(mapOf(ns, 'm'), 'data')).toEqual({ keep: '1', injected: '2' });
      expect(await at(webOf(ns), 'spec.template.spec.containers.0.env')).toEqual([
        { name: 'A', value: 'ours' },
      ]);
      expect(await driftOf(site)).toEqual([]);
    });
  });
};
