import { describe, expect, it } from 'vitest';
import { toApiError } from '../../../../agent/apply/kubernetes/api/api-error.ts';
import type { KubernetesApi } from '../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { pack, type KubernetesSite } from '../../../agent/apply/kubernetes/kubernetes-site.ts';
import { definition, UNWATCHED, yaml } from './objects.ts';
import type { CompareWorld } from './world.ts';

/** What is reported where the server refuses the change of an author, and what stays where it refuses to go back. */
export const verdictsOnCluster = ({ newSite, at, newNamespace, kubectl }: CompareWorld): void => {
  const released = async (site: KubernetesSite, ...objects: readonly object[]): Promise<string> =>
    (await site.release([pack('app', yaml(...objects))])).map(({ message }) => message).join();

  describe('answers of the server to a change', () => {
    it.each([
      ['a field of the spec', (inner: object) => inner, (spec: object) => spec, 'spec.size'],
      [
        'a field below it',
        (inner: object) => ({ type: 'object', properties: { drive: inner } }),
        (spec: object) => ({ drive: spec }),
        'spec.drive.size',
      ],
      [
        'a field of an item',
        (inner: object) => ({
          type: 'object',
          properties: {
            drives: {
              type: 'array',
              'x-kubernetes-list-type': 'map',
              'x-kubernetes-list-map-keys': ['name'],
              items: {
                type: 'object',
                required: ['name'],
                properties: { name: { type: 'string' }, drive: inner },
              },
            },
          },
        }),
        (spec: object) => ({ drives: [{ name: 'a', drive: spec }] }),
        'spec.drives[0].drive.size',
      ],
    ])(
      'name %s that the package no longer has, and no null that nobody wrote',
      async (_, schema, spec, field) => {
        const ns = await newNamespace();
        const plural = `${ns.replaceAll(/\W/g, '')}s`;
        const inner = { type: 'object', required: ['size'], properties: { size: { type: 'integer' } } };
        const motors = definition(
          plural,
          'Motor',
          {},
          {
            'x-kubernetes-preserve-unknown-fields': undefined,
            properties: { spec: schema(inner) },
          },
        );
        const motor = (of: object) => ({
          apiVersion: `${plural}.example/v1`,
          kind: 'Motor',
          metadata: { name: 'one', namespace: ns, annotations: UNWATCHED },
          spec: spec(of),
        });
        await using site = await newSite();
        expect(await released(site, motors, motor({ size: 1 }))).not.toContain('was not');
        const said = await released(site, motors, motor({}));
        expect(said).toContain(`${field}: Required value`);
        expect(said).toContain(`(Add ${field} to the object in the package)`);
        expect(said).not.toMatch(/null|fleet-ferry\/force/);
        expect(await released(site, motors, motor({ size: 2 }))).not.toContain('was not');
      },
    );

    it('let an object be recreated when its definition changes too, and hint at it when that is not allowed', async () => {
      const ns = await newNamespace();
      const plural = `${ns.replaceAll(/\W/g, '')}s`;
      const size = {
        type: 'integer',
        'x-kubernetes-validations': [{ rule: 'self == oldSelf', message: 'once' }],
      };
      const motors = (description: string) =>
        definition(
          plural,
          'Motor',
          {},
          {
            description,
            'x-kubernetes-preserve-unknown-fields': undefined,
            properties: { spec: { type: 'object', properties: { size } } },
          },
        );
      const motor = (of: number, annotations: object = {}) => ({
        apiVersion: `${plural}.example/v1`,
        kind: 'Motor',
        metadata: { name: 'one', namespace: ns, annotations: { ...UNWATCHED, ...annotations } },
        spec: { size: of },
      });
      const url = `/apis/${plural}.example/v1/namespaces/${ns}/${plural}/one`;
      await using site = await newSite();
      expect(await released(site, motors('a'), motor(1))).not.toContain('was not');
      const uid = await at(url, 'metadata.uid');
      expect(await released(site, motors('b'), motor(2))).toContain(
        `(To have Motor ${ns}/one deleted and made again, annotate it with fleet-ferry/force: enabled)`,
      );
      expect(await at(url, 'metadata.uid')).toBe(uid);
      const forced = motor(2, { 'fleet-ferry/force': 'enabled' });
      expect(await released(site, motors('c'), forced)).not.toContain('was not');
      expect(await at(url, 'spec')).toEqual({ size: 2 });
      expect(await at(url, 'metadata.uid')).not.toBe(uid);
    });
  });

  it('are asked for again when the server judged by the former definition', async () => {
    const ns = await newNamespace();
    const plural = `${ns.replaceAll(/\W/g, '')}s`;
    const motors = (properties: object) =>
      definition(
        plural,
        'Motor',
        {},
        {
          'x-kubernetes-preserve-unknown-fields': undefined,
          properties: { spec: { type: 'object', properties } },
        },
      );
    const motor = (spec: object) => ({
      apiVersion: `${plural}.example/v1`,
      kind: 'Motor',
      metadata: { name: 'one', namespace: ns, annotations: UNWATCHED },
      spec,
    });
    let late = 0;
    const behind = (api: KubernetesApi): KubernetesApi => ({
      ...api,
      apply: async (object, options, signal) => {
        if (object.kind !== 'Motor' || options.dryRun === true || late === 0)
          return api.apply(object, options, signal);
        late -= 1;
        const message = `failed to create typed patch object (${ns}/one): .spec.more: field not declared in schema`;
        const doing = { verb: 'apply', what: `Motor ${ns}/one`, secret: false };
        throw toApiError({ code: 500, status: { message } }, doing, api.server);
      },
    });
    const size = { type: 'integer' };
    await using site = await newSite(behind);
    expect(await released(site, motors({ size }), motor({ size: 1 }))).not.toContain('was not');
    late = 2;
    expect(await released(site, motors({ size, more: size }), motor({ more: 1 }))).not.toContain('was not');
    expect(await at(`/apis/${plural}.example/v1/namespaces/${ns}/${plural}/one`, 'spec')).toEqual({
      more: 1,
    });
    expect(late).toBe(0);
    await site.release([]);
  });

  describe("another person's definition with another storage version", () => {
    const version = (name: string, storage: boolean) => ({
      name,
      served: true,
      storage,
      schema: { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } },
    });
    const valves = (group: string, ...versions: readonly object[]) => ({
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      metadata: { name: `valves.${group}` },
      spec: {
        group,
        scope: 'Namespaced',
        names: { plural: 'valves', singular: 'valve', kind: 'Valve' },
        versions,
      },
    });

    it.each([
      ['is as before when no object of it is left', false],
      ['keeps that version, not served, when objects may be stored in it, and says so', true],
    ])('%s', async (_, hasOther) => {
      const ns = await newNamespace();
      const group = `${ns}.example`;
      const url = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/valves.${group}`;
      const valve = (name: string, v: string) => ({
        apiVersion: `${group}/${v}`,
        kind: 'Valve',
        metadata: { name, namespace: ns, annotations: UNWATCHED },
        spec: { open: true },
      });
      await kubectl(['create', '-f', '-'], yaml(valves(group, version('v1', true))));
      await kubectl(['wait', '--for=condition=Established', `crd/valves.${group}`]);
      const before = await at(url, 'spec');
      const list = `/apis/${group}/v1/valves`;
      await expect.poll(() => at(list, 'items'), { timeout: 20_000 }).toEqual([]);
      if (hasOther) await kubectl(['create', '-f', '-'], yaml(valve('theirs', 'v1')));
      await using site = await newSite();
      const both = valves(group, version('v1', false), version('v2', true));
      expect(await released(site, both, valve('ours', 'v2'))).not.toContain('was not');
      if (hasOther) await kubectl(['annotate', 'valves', 'theirs', '-n', ns, 'stored=anew']);
      expect(await at(url, 'status.storedVersions')).toEqual(['v1', 'v2']);
      for (const result of await site.release([])) expect(result).not.toMatchObject({ outcome: 'failed' });
      expect(await at(url, 'metadata.annotations')).toBeUndefined();
      const after = (await at(url, 'spec')) as { readonly versions: readonly object[] };
      const said = JSON.stringify(site.events());
      if (hasOther) {
        expect(after.versions).toEqual([
          version('v1', true),
          { ...version('v2', true), served: false, storage: false },
        ]);
        expect(await at(`/apis/${group}/v1/namespaces/${ns}/valves/theirs`, 'spec')).toEqual({ open: true });
        expect(said).toContain('version v2 stays in it, not served');
      } else {
        expect(after).toEqual(before);
        expect(await at(url, 'status.storedVersions')).toEqual(['v1']);
        expect(said).not.toContain('stays in it');
        await kubectl(['create', '-f', '-'], yaml(valve('theirs', 'v1')));
      }
      await kubectl(['delete', 'crd', `valves.${group}`]);
    });
  });
};
