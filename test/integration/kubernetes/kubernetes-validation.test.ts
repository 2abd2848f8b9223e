import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { readKubernetesObjects } from '../../../scheduler/model/kubernetes/kubernetes-object.ts';
import { createObjectCheck } from '../../../scheduler/plan/validate/kubernetes/create-object-check.ts';
import { readCustomKinds } from '../../../scheduler/plan/validate/kubernetes/custom-kinds.ts';
import { describeOnKubernetes } from '../../harness/kubernetes/describe-on-kubernetes.ts';
import type { ApiAnswer } from '../../harness/kubernetes/api-client.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { builtInTemplates, type Judge, type Judged } from './kubernetes-validation/built-in-templates.ts';
import { deployManifests } from './kubernetes-validation/deploy-manifests.ts';
import { GAPS } from './kubernetes-validation/gaps.ts';
import { mutationsOf } from './kubernetes-validation/mutate-object.ts';
import { PROBE_DEFINITION, PROBES } from './kubernetes-validation/probe-schemas.ts';
import { stockFlux } from './kubernetes-validation/stock-flux.ts';

const HERE = join(import.meta.dirname, 'kubernetes-validation');

type Candidate = { readonly what: string; readonly object: Judged };
type Definition = {
  readonly spec: {
    readonly group: string;
    readonly names: { readonly plural: string };
    readonly versions: readonly { readonly name: string }[];
  };
};
type Resources = {
  readonly resources: readonly {
    readonly kind: string;
    readonly name: string;
    readonly namespaced: boolean;
  }[];
};

/** Sound objects of many kinds, and each of them with one thing changed, in every way. */
const candidates = async (): Promise<readonly Candidate[]> => {
  const text = await readFile(join(HERE, 'right-objects.yaml'), 'utf8');
  const right = parseAllDocuments(text).map((document) => document.toJS() as Judged);
  return [
    ...KEYS,
    ...right.flatMap((object) =>
      [{ what: 'as it is', object }, ...mutationsOf(object)].map(({ what, object: changed }) => ({
        what: `${object.kind} ${what}`,
        object: changed as Candidate['object'],
      })),
    ),
  ];
};

/** Keys of ConfigMaps and Secrets, sound and not. */
const KEYS: readonly Candidate[] = [
  ...[
    'a/b',
    'a b',
    '.',
    '..',
    '..a',
    '.a',
    'a..b',
    'A_b-9.c',
    'ä',
    '',
    'a'.repeat(253),
    'a'.repeat(254),
  ].flatMap((key) => [
    { kind: 'ConfigMap', data: { [key]: 'text' } },
    { kind: 'ConfigMap', binaryData: { [key]: 'aGk=' } },
    { kind: 'Secret', data: { [key]: 'aGk=' } },
    { kind: 'Secret', stringData: { [key]: 'text' } },
  ]),
  { kind: 'ConfigMap', data: { a: 'text' }, binaryData: { a: 'aGk=' } },
  { kind: 'ConfigMap', data: { a: 'text' }, binaryData: { b: 'aGk=' } },
  { kind: 'Secret', data: { a: 'aGk=' }, stringData: { a: 'text' } },
].map((fields) => ({
  what: `keys: ${JSON.stringify(fields)}`,
  object: { apiVersion: 'v1', metadata: { name: 'keys', namespace: 'default' }, ...fields },
}));

describeOnKubernetes(
  ['kwok'],
  'a real API server, and the verdict on rendered objects',
  ({ version, kube }, { kwok }) => {
    let cluster: OwnCluster;
    beforeAll(async () => {
      cluster = await startOwnCluster({ kube, kwok, nodes: 1 });
    });
    afterAll(() => cluster?.[Symbol.asyncDispose]());

    /** Returns once the server lists the kind, which is when it is established. */
    const define = async (definition: Definition): Promise<void> => {
      const path = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';
      expect(await cluster.request('POST', path, definition)).toMatchObject({ status: 201 });
      const { group, names, versions } = definition.spec;
      const listed = async (): Promise<unknown> =>
        (await cluster.request('GET', `/apis/${group}/${versions[0]?.name}`)).body;
      await expect.poll(async () => JSON.stringify(await listed())).toContain(`"${names.plural}"`);
    };
    /** Where objects of a kind are made. */
    const placeOf = async ({ apiVersion, kind }: Judged): Promise<(namespace: string) => string> => {
      const base = `${apiVersion.includes('/') ? '/apis' : '/api'}/${apiVersion}`;
      // A kind that was just defined is listed a moment later, and its group answers 404 or 503 until then.
      const found = await vi.waitFor(
        async () => {
          const { body } = await cluster.request('GET', base);
          const all = (body as Partial<Resources>).resources ?? [];
          return (
            all.find((it) => it.kind === kind && !it.name.includes('/')) ??
            expect.fail(`${base} has no ${kind}`)
          );
        },
        { timeout: 30_000, interval: 100 },
      );
      const { name, namespaced } = found;
      return (namespace) => (namespaced ? `${base}/namespaces/${namespace}/${name}` : `${base}/${name}`);
    };
    const judge: Judge = async (objects) => {
      const places = new Map<string, ReturnType<typeof placeOf>>();
      const answers: ApiAnswer[] = [];
      const waiting = [...objects.entries()].values();
      const worker = async (): Promise<void> => {
        for (const [at, object] of waiting) {
          const type = `${object.apiVersion} ${object.kind}`;
          const place = places.get(type) ?? placeOf(object);
          places.set(type, place);
          const { namespace } = object.metadata;
          const path = (await place)(typeof namespace === 'string' ? namespace : 'default');
          answers[at] = await cluster.request('POST', `${path}?dryRun=All&fieldValidation=Strict`, object);
        }
      };
      await Promise.all(Array.from({ length: 8 }, worker));
      return answers;
    };

    builtInTemplates(() => cluster, judge);
    deployManifests(() => cluster);

    test('agrees with a real API server, except for the listed gaps', async () => {
      const all = await candidates();
      const definition = join(HERE, 'press-definition.yaml');
      await define(parse(await readFile(definition, 'utf8')));
      const statuses = await judge(all.map(({ object }) => object));
      const refused = new Set(statuses.flatMap(({ status }, at) => (status >= 400 ? [at] : [])));
      // The server judged every object by what is in it.
      expect(new Set(statuses.map(({ status }) => status))).toEqual(new Set([201, 400, 422]));

      const custom = readCustomKinds([{ shown: definition, bytes: await readFile(definition) }]);
      const check = createObjectCheck(custom);
      const disagreements = all.flatMap(({ what, object }, at) => {
        const [read] = readKubernetesObjects('object.json', Buffer.from(JSON.stringify(object)), []);
        const ours = read ? check.judge(read, `~${version}`) : [];
        if (ours.length > 0 === refused.has(at)) return [];
        return [{ what, ours: ours[0]?.message }];
      });
      // Nothing that a cluster takes is refused.
      expect(disagreements.filter(({ ours }) => ours !== undefined)).toEqual([]);
      const listed = (what: string) => GAPS.find(({ like }) => like.test(what));
      expect(disagreements.filter(({ what }) => !listed(what))).toEqual([]);
      expect(disagreements.length).toBeLessThan(100);
      // A gap that is closed leaves the list.
      const seen = new Set(disagreements.map(({ what }) => listed(what)));
      expect(GAPS.filter((gap) => !seen.has(gap)).map(({ like }) => like.source)).toEqual([]);
      console.log(
        `${all.length} objects, ${refused.size} refused by Kubernetes ${version}; the same verdict on ${all.length - disagreements.length}`,
      );
    });

    test('agrees with a real API server about generated schemas with combinations', async () => {
      await define(JSON.parse(PROBE_DEFINITION));
      const statuses = await judge(PROBES.map(({ object }) => object));
      expect(new Set(statuses.map(({ status }) => status))).toEqual(new Set([201, 400, 422]));

      const check = createObjectCheck(
        readCustomKinds([{ shown: 'probes.json', bytes: Buffer.from(PROBE_DEFINITION) }]),
      );
      const disagreements = PROBES.flatMap(({ schema, object }, at) => {
        const [read] = readKubernetesObjects('object.json', Buffer.from(JSON.stringify(object)), []);
        const ours = read ? check.judge(read, `~${version}`) : [];
        const { status = 0, body } = statuses[at] ?? {};
        const isTaken = status === 201;
        if ((ours.length === 0) === isTaken) return [];
        return [
          {
            schema: JSON.stringify(schema),
            spec: JSON.stringify(object.spec),
            ours: ours[0]?.message,
            server: isTaken ? 'takes it' : body,
          },
        ];
      });
      expect(disagreements).toEqual([]);
      const taken = statuses.filter(({ status }) => status === 201).length;
      expect(taken).toBeGreaterThan(PROBES.length / 4);
      expect(PROBES.length - taken).toBeGreaterThan(PROBES.length / 4);
    });

    stockFlux(() => cluster);
  },
);
