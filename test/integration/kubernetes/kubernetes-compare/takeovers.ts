import { describe, expect, it } from 'vitest';
import type { PackageResult } from '../../../../agent/apply/package-result.ts';
import { lookAtAdoptions } from '../../../../agent/apply/look-at-adoptions.ts';
import { pack, type KubernetesSite } from '../../../agent/apply/kubernetes/kubernetes-site.ts';
import { deployment, map, UNWATCHED, yaml } from './objects.ts';
import { type CompareWorld, mapOf, webOf } from './world.ts';

type Meta = { readonly labels?: object; readonly annotations?: object };

/** Labels and annotations as each tool writes them, and the field manager under which it writes. */
const TOOLS: readonly (readonly [tool: string, manager: string, isApplier: boolean, meta: Meta])[] = [
  [
    'Helm',
    'helm',
    false,
    {
      labels: { 'app.kubernetes.io/managed-by': 'Helm' },
      annotations: { 'meta.helm.sh/release-name': 'shop', 'meta.helm.sh/release-namespace': 'shop' },
    },
  ],
  ['Flux', 'kustomize-controller', true, { labels: { 'kustomize.toolkit.fluxcd.io/name': 'apps' } }],
  ['Flux', 'helm-controller', true, { labels: { 'helm.toolkit.fluxcd.io/name': 'shop' } }],
  [
    'Rancher Fleet',
    'fleetagent',
    true,
    {
      labels: {
        'app.kubernetes.io/managed-by': 'Helm',
        'objectset.rio.cattle.io/hash': '0b2fd2fcd0c5b0c1f8a6b1d6f5bd4aa0b9d53a3e',
      },
      annotations: {
        'meta.helm.sh/release-name': 'shop',
        'meta.helm.sh/release-namespace': 'shop',
        'objectset.rio.cattle.io/id': 'cattle-fleet-system-shop-cattle-fleet-system',
      },
    },
  ],
  ['Argo CD', 'argocd-controller', true, { labels: { 'argocd.argoproj.io/instance': 'shop' } }],
  ['kapp', 'kapp-server-side', true, { labels: { 'kapp.k14s.io/app': '1700000000000000000' } }],
];

const merged = (object: Record<string, unknown>, meta: Meta): Record<string, unknown> => {
  const metadata = object['metadata'] as { annotations?: object };
  const annotations = { ...metadata.annotations, ...meta.annotations };
  return { ...object, metadata: { ...metadata, ...meta, annotations } };
};

/** What the agent takes over from other tools, and what it leaves to them. */
export const takeoversOnCluster = ({
  newSite,
  at,
  newNamespace,
  kubectl,
  driftOf,
  right,
}: CompareWorld): void => {
  const env = (...names: readonly string[]): Record<string, unknown> => ({
    env: names.map((name) => ({ name, value: 'x' })),
  });
  const web = (ns: string, rule: string | undefined, ...names: readonly string[]): Record<string, unknown> =>
    merged(deployment(ns, {}, env(...names)), {
      annotations: rule === undefined ? {} : { 'fleet-ferry/adopt': rule },
    });
  const make = (manager: string, isApplier: boolean, object: object): Promise<string> =>
    kubectl(
      [...(isApplier ? ['apply', '--server-side'] : ['create']), `--field-manager=${manager}`, '-f', '-'],
      yaml(object),
    );
  const namesOf = async (ns: string): Promise<unknown> =>
    ((await at(webOf(ns), 'spec.template.spec.containers.0.env')) as { name: string }[]).map(
      ({ name }) => name,
    );
  const failing = async (site: KubernetesSite, ...objects: readonly object[]): Promise<string> => {
    const [result] = await site.release([pack('app', yaml(...objects))]);
    expect(result).toMatchObject({ outcome: 'failed', code: 'PATH_CLAIMED' });
    return result?.message ?? '';
  };
  const managersOf = async (url: string): Promise<readonly string[]> =>
    ((await at(url, 'metadata.managedFields')) as { manager: string }[]).map(({ manager }) => manager);
  /** A new annotation raises the generation of a Deployment; its pods stay for as long as its spec does. */
  const identityOf = async (ns: string): Promise<unknown> => [
    await at(webOf(ns), 'metadata.uid'),
    await at(webOf(ns), 'spec'),
  ];

  describe('an object of another tool', () => {
    it.each(TOOLS)('is left to %s (%s) until it is given up', async (tool, manager, isApplier, meta) => {
      const ns = await newNamespace();
      await make(manager, isApplier, merged(web(ns, undefined, 'A', 'B'), meta));
      await using site = await newSite();
      const message = await failing(site, web(ns, undefined, 'A'), map(ns, 'beside', { a: '1' }));
      expect(message).toContain(`Deployment ${ns}/web belongs to ${tool} (`);
      expect(await managersOf(webOf(ns))).not.toContain('fleet-agent');
      expect(await at(mapOf(ns, 'beside'), 'data')).toBeUndefined();
      const given = Object.keys({ ...meta.labels, ...meta.annotations }).filter(
        (key) => !/managed-by/.test(key),
      );
      const word = meta.annotations ? 'annotate' : 'label';
      await kubectl([word, '-n', ns, 'deployment/web', ...given.map((key) => `${key}-`)]);
      await right(site, web(ns, undefined, 'A'), map(ns, 'beside', { a: '1' }));
      expect(await namesOf(ns)).toEqual(['A']);
    });

    it.each(TOOLS)('is taken from %s (%s) without a residue with adopt: always', async (...row) => {
      const [, manager, isApplier, meta] = row;
      const ns = await newNamespace();
      await make(manager, isApplier, merged(web(ns, undefined, 'A', 'B'), meta));
      const found = await identityOf(ns);
      await using site = await newSite();
      // The same as it is: nothing restarts.
      await right(site, web(ns, 'always', 'A', 'B'));
      expect(await identityOf(ns)).toEqual(found);
      expect(await managersOf(webOf(ns))).not.toContain(manager);
      const left = { ...((await at(webOf(ns), 'metadata.labels')) as object) };
      expect(Object.keys(left)).toEqual([]);
      // What leaves the package later goes, although the tool had it, too.
      await right(site, web(ns, 'always', 'A'));
      expect(await namesOf(ns)).toEqual(['A']);
      expect(await driftOf(site)).toEqual([]);
      // The way back: all that the tool had is there again, and is its own.
      await site.release([]);
      expect(await namesOf(ns)).toEqual(['A', 'B']);
      expect(await managersOf(webOf(ns))).toContain(manager);
      for (const [where, pairs] of Object.entries(meta))
        expect(await at(webOf(ns), `metadata.${where}`)).toMatchObject(pairs);
      expect(await identityOf(ns)).toEqual(found);
    });

    it('keeps a label that kapp wrote into its selector, which cannot change, and into its pods', async () => {
      const ns = await newNamespace();
      const scope = { 'kapp.k14s.io/app': '1700000000000000000' };
      const before = web(ns, undefined, 'A', 'B') as { spec: { template: object } };
      const labels = { app: 'web', ...scope };
      const template = {
        ...before.spec.template,
        metadata: { labels: { ...labels, 'kapp.k14s.io/association': 'v1.86ad' } },
      };
      const scoped = { ...before, spec: { ...before.spec, selector: { matchLabels: labels }, template } };
      await make('kapp', false, merged(scoped, { labels: scope }));
      await using site = await newSite();
      await right(site, web(ns, 'always', 'A', 'B'));
      expect(await at(webOf(ns), 'spec.selector.matchLabels')).toEqual(labels);
      expect(await at(webOf(ns), 'spec.template.metadata.labels')).toEqual(labels);
      expect(await managersOf(webOf(ns))).not.toContain('kapp');
      await right(site, web(ns, 'always', 'A'));
      expect(await namesOf(ns)).toEqual(['A']);
      expect(await driftOf(site)).toMatchObject([
        { stays: true, message: expect.stringContaining('spec.selector stays as it is') },
      ]);
    });

    it('is taken by ifEqual only without a difference, and named with its differences otherwise', async () => {
      const ns = await newNamespace();
      const meta = TOOLS[1]?.[3] ?? {};
      await make('kustomize-controller', true, merged(web(ns, undefined, 'A', 'B'), meta));
      await using site = await newSite();
      expect(await failing(site, web(ns, 'ifEqual', 'A'))).toContain(
        'belongs to Flux (kustomize.toolkit.fluxcd.io/name: apps): spec.template.spec.containers[name=a].env[name=B]',
      );
      const found = await identityOf(ns);
      await right(site, web(ns, 'ifEqual', 'A', 'B'));
      expect(await identityOf(ns)).toEqual(found);
    });

    it('of kubectl is not taken by ifEqual where a field of it would be removed', async () => {
      const ns = await newNamespace();
      await kubectl(['apply', '-f', '-'], yaml(map(ns, 'm', { a: '1', b: '2' })));
      await using site = await newSite();
      const ours = (data: Record<string, string>) =>
        map(ns, 'm', data, { annotations: { 'fleet-ferry/adopt': 'ifEqual' } });
      expect(await failing(site, ours({ a: '1' }))).toContain('differs from it: data.b');
      expect(await at(mapOf(ns, 'm'), 'data')).toEqual({ a: '1', b: '2' });
      await right(site, ours({ a: '1', b: '2' }));
    });

    it('is not made again by ifEqual where a field of it cannot be changed', async () => {
      const ns = await newNamespace();
      const meta = TOOLS[1]?.[3] ?? {};
      await make('kustomize-controller', true, merged(web(ns, undefined, 'A'), meta));
      const found = await identityOf(ns);
      await using site = await newSite();
      const other = merged(web(ns, 'ifEqual', 'A'), {
        annotations: { 'fleet-ferry/adopt': 'ifEqual', 'fleet-ferry/force': 'enabled' },
      });
      const labels = { app: 'other' };
      const spec = other['spec'] as { template: { spec: object } };
      const changed = {
        ...other,
        spec: {
          selector: { matchLabels: labels },
          template: { metadata: { labels }, spec: spec.template.spec },
        },
      };
      expect(await failing(site, changed)).toContain('belongs to Flux');
      expect(await identityOf(ns)).toEqual(found);
    });

    it('is not taken by never, even without an owner', async () => {
      const ns = await newNamespace();
      await make('somebody', false, map(ns, 'm', { a: '1' }));
      await using site = await newSite();
      const wanted = map(ns, 'm', { a: '1' }, { annotations: { 'fleet-ferry/adopt': 'never' } });
      expect(await failing(site, wanted)).toContain(
        `ConfigMap ${ns}/m existed before the package, and its rule for takeovers is never`,
      );
    });

    it('is nobody’s when what managed it is gone from the cluster', async () => {
      const ns = await newNamespace();
      const group = 'kustomize.toolkit.fluxcd.io';
      const definition = {
        apiVersion: 'apiextensions.k8s.io/v1',
        kind: 'CustomResourceDefinition',
        metadata: { name: `kustomizations.${group}` },
        spec: {
          group,
          scope: 'Namespaced',
          names: { plural: 'kustomizations', singular: 'kustomization', kind: 'Kustomization' },
          versions: [
            {
              name: 'v1',
              served: true,
              storage: true,
              schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
            },
          ],
        },
      };
      await kubectl(['apply', '--server-side', '-f', '-'], yaml(definition));
      await kubectl(['wait', '--for=condition=Established', `crd/kustomizations.${group}`]);
      const source = {
        apiVersion: `${group}/v1`,
        kind: 'Kustomization',
        metadata: { name: 'apps', namespace: ns },
      };
      await kubectl(['create', '-f', '-'], yaml(source));
      const labels = { [`${group}/name`]: 'apps', [`${group}/namespace`]: ns };
      await make('kustomize-controller', true, map(ns, 'm', { a: '1', b: '2' }, { labels }));
      await using site = await newSite();
      expect(await failing(site, map(ns, 'm', { a: '1' }))).toContain('belongs to Flux');
      await kubectl(['delete', '-n', ns, `kustomizations.${group}/apps`]);
      await right(site, map(ns, 'm', { a: '1' }));
      expect(await at(mapOf(ns, 'm'), 'data')).toEqual({ a: '1' });
      expect(await at(mapOf(ns, 'm'), 'metadata.labels')).toBeUndefined();
      await kubectl(['delete', `crd/kustomizations.${group}`]);
    });

    it('is taken with the fields of a manager that the site names', async () => {
      const ns = await newNamespace();
      await make('house-deployer', true, web(ns, undefined, 'A', 'B'));
      await using site = await newSite(undefined, { deployers: ['house-deployer'] });
      await right(site, web(ns, undefined, 'A'));
      expect(await namesOf(ns)).toEqual(['A']);
      expect(await driftOf(site)).toEqual([]);
    });

    it('keeps its replicas where the package leaves them to an autoscaler', async () => {
      const ns = await newNamespace();
      await make('helm', false, deployment(ns, { replicas: 4 }));
      const scaler = {
        apiVersion: 'autoscaling/v2',
        kind: 'HorizontalPodAutoscaler',
        metadata: { name: 'web', namespace: ns, annotations: UNWATCHED },
        spec: {
          scaleTargetRef: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web' },
          minReplicas: 2,
          maxReplicas: 9,
        },
      };
      await using site = await newSite();
      await right(site, deployment(ns), scaler);
      expect(await at(webOf(ns), 'spec.replicas')).toBe(4);
    });

    it('has no field of ours after it was given up with prune: disabled', async () => {
      const ns = await newNamespace();
      await using site = await newSite();
      const annotations = { 'fleet-ferry/prune': 'disabled' };
      await right(site, map(ns, 'm', { a: '1', b: '2' }, { annotations }));
      await site.release([pack('other', yaml(map(ns, 'n', {})))]);
      expect(await managersOf(mapOf(ns, 'm'))).toEqual(['before-first-apply']);
      expect(await at(mapOf(ns, 'm'), 'metadata.annotations')).toEqual(annotations);
      // Another agent takes it over as what others made before: what its package lacks goes.
      await using next = await newSite();
      await right(next, map(ns, 'm', { a: '1' }));
      expect(await at(mapOf(ns, 'm'), 'data')).toEqual({ a: '1' });
    });

    it('is listed before a takeover, with its tool and all that would change', async () => {
      const ns = await newNamespace();
      await make('helm', false, merged(web(ns, undefined, 'A', 'B'), TOOLS[0]?.[3] ?? {}));
      await make('somebody', false, map(ns, 'm', { a: '1' }));
      await using site = await newSite();
      await site.want([pack('app', yaml(web(ns, undefined, 'A'), map(ns, 'm', { a: '2' })))]);
      const [found] = await lookAtAdoptions(site.agent);
      expect(found).toEqual({
        assignment: 'app',
        adoptions: [
          {
            key: `/ConfigMap/${ns}/m`,
            owner: 'nobody',
            verdict: 'taken over',
            changes: ['data.a'],
            removes: [],
            managers: [],
          },
          {
            key: `apps/Deployment/${ns}/web`,
            owner: 'Helm (meta.helm.sh/release-name: shop)',
            verdict: 'refused',
            why: expect.stringContaining('belongs to Helm') as string,
            changes: [],
            removes: ['spec.template.spec.containers[name=a].env[name=B]'],
            managers: ['helm'],
          },
        ],
      });
      expect(await at(mapOf(ns, 'm'), 'data')).toEqual({ a: '1' });
    });
  });
};

/** Releases an object of a workspace over one of Flux. @param says its annotation @param granted the rule of the release */
export const takeOverInWorkspace = async (
  { newNamespace, newSite, kubectl }: CompareWorld,
  says: string,
  granted: 'never' | 'always' | undefined,
): Promise<PackageResult | undefined> => {
  const ns = await newNamespace();
  const [, , , meta] = TOOLS[1] ?? [];
  const flux = ['apply', '--server-side', '--field-manager=kustomize-controller', '-f', '-'];
  await kubectl(flux, yaml(map(ns, 'm', { a: '1' }, meta)));
  await using site = await newSite();
  const object = map(ns, 'm', { a: '1' }, { annotations: { 'fleet-ferry/adopt': says } });
  const rules = granted === undefined ? {} : { rules: { adopt: granted } };
  return (await site.release([pack('app', yaml(object), { ...rules, bounds: {} })]))[0];
};
