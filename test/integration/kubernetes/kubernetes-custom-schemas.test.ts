import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { readKubernetesObjects } from '../../../scheduler/model/kubernetes/kubernetes-object.ts';
import { createObjectCheck } from '../../../scheduler/plan/validate/kubernetes/create-object-check.ts';
import { readCustomKinds } from '../../../scheduler/plan/validate/kubernetes/custom-kinds.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { KUBERNETES_VERSION } from '../../harness/parts/kube.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { generateSchemas } from './kubernetes-validation/generate-schemas.ts';

const SEED = 16;
const SCHEMAS = 60;
const VALUES = 12;

const cases = generateSchemas(SEED, SCHEMAS, VALUES);

/** One kind whose every field has one of the schemas: a server takes it once. */
const definition = JSON.stringify({
  apiVersion: 'apiextensions.k8s.io/v1',
  kind: 'CustomResourceDefinition',
  metadata: { name: 'probes.press.example' },
  spec: {
    group: 'press.example',
    scope: 'Namespaced',
    names: { kind: 'Probe', plural: 'probes', singular: 'probe' },
    versions: [
      {
        name: 'v1',
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: 'object',
            properties: {
              spec: {
                type: 'object',
                properties: Object.fromEntries(cases.map(({ schema }, at) => [`p${at}`, schema])),
              },
            },
          },
        },
      },
    ],
  },
});

const objects = cases.flatMap(({ schema, values }, at) =>
  values.map((value, index) => ({
    schema,
    object: {
      apiVersion: 'press.example/v1',
      kind: 'Probe',
      metadata: { name: `probe-${at}-${index}`, namespace: 'default' },
      spec: { [`p${at}`]: value },
    },
  })),
);

describeWith(['kube', 'kwok'], 'the verdict on custom resources', ({ kube, kwok }) => {
  test('of generated schemas with combinations is that of a real API server', async () => {
    await using folder = await temporaryDirectory('custom-schemas');
    const [crd, all] = [join(folder.path, 'definition.json'), join(folder.path, 'objects')];
    await writeFile(crd, definition);
    await mkdir(all);
    await Promise.all(
      objects.map(({ object }) =>
        writeFile(join(all, `${object.metadata.name}.json`), JSON.stringify(object)),
      ),
    );
    await using cluster = await startOwnCluster({ kube, kwok, nodes: 1 });
    const applied = await cluster.kubectl(['apply', '-f', crd]);
    expect(applied.stderr).toBe('');
    // The server lists a kind once it is established. kubectl wait fails where the definition has no conditions yet.
    await expect
      .poll(async () => (await cluster.kubectl(['get', '--raw', '/apis/press.example/v1'])).stdout, {
        timeout: 30_000,
      })
      .toContain('"probes"');
    const { stdout, stderr } = await cluster.kubectl([
      'create',
      '--dry-run=server',
      '--validate=strict',
      '-f',
      all,
    ]);
    const taken = new Set([...stdout.matchAll(/\/(probe-\d+-\d+) created/g)].map(([, name]) => name));
    const refused = new Set(
      [...stderr.matchAll(/"?(probe-\d+-\d+)(?:\.json)?"? ?(?:is invalid|)/g)].map(([, name]) => name),
    );
    expect(taken.size + refused.difference(taken).size).toBe(objects.length);

    const check = createObjectCheck(readCustomKinds([{ shown: crd, bytes: Buffer.from(definition) }]));
    const disagreements = objects.flatMap(({ schema, object }) => {
      const [read] = readKubernetesObjects('object.json', Buffer.from(JSON.stringify(object)), []);
      const ours = read ? check.judge(read, `~${KUBERNETES_VERSION}`) : [];
      const isTaken = taken.has(object.metadata.name);
      if ((ours.length === 0) === isTaken) return [];
      const said = stderr.split('\n').find((line) => line.includes(object.metadata.name));
      return [
        {
          schema: JSON.stringify(schema),
          spec: JSON.stringify(object.spec),
          ours: ours[0]?.message,
          server: isTaken ? 'takes it' : said,
        },
      ];
    });
    expect(disagreements).toEqual([]);
    expect(taken.size).toBeGreaterThan(objects.length / 4);
    expect(refused.size).toBeGreaterThan(objects.length / 4);
  });
});
