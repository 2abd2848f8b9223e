import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { readKubernetesObjects } from '../../../scheduler/model/kubernetes/kubernetes-object.ts';
import { createObjectCheck } from '../../../scheduler/plan/validate/kubernetes/create-object-check.ts';
import { readCustomKinds } from '../../../scheduler/plan/validate/kubernetes/custom-kinds.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { KUBERNETES_VERSION } from '../../harness/parts/kube.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { GAPS } from './kubernetes-validation/gaps.ts';
import { mutationsOf } from './kubernetes-validation/mutate-object.ts';
import { PROBE_DEFINITION, PROBES } from './kubernetes-validation/probe-schemas.ts';

const HERE = join(import.meta.dirname, 'kubernetes-validation');

type Candidate = { readonly what: string; readonly object: { readonly kind: string } };

/** Sound objects of many kinds, and each of them with one thing changed, in every way. */
const candidates = async (): Promise<readonly Candidate[]> => {
  const text = await readFile(join(HERE, 'right-objects.yaml'), 'utf8');
  const right = parseAllDocuments(text).map((document) => document.toJS() as { kind: string });
  return right.flatMap((object) =>
    [{ what: 'as it is', object }, ...mutationsOf(object)].map(({ what, object: changed }) => ({
      what: `${object.kind} ${what}`,
      object: changed as Candidate['object'],
    })),
  );
};

describeWith(['kube', 'kwok'], 'the verdict on rendered objects', ({ kube, kwok }) => {
  let cluster: OwnCluster;
  beforeAll(async () => {
    cluster = await startOwnCluster({ kube, kwok, nodes: 1 });
  });
  afterAll(() => cluster?.[Symbol.asyncDispose]());

  test('is that of a real API server, but for the gaps that are listed', async () => {
    await using folder = await temporaryDirectory('validation');
    const all = await candidates();
    await mkdir(join(folder.path, 'objects'));
    const fileOf = (at: number) => join(folder.path, 'objects', `${String(at).padStart(5, '0')}.json`);
    await Promise.all(all.map(({ object }, at) => writeFile(fileOf(at), JSON.stringify(object))));
    const definition = join(HERE, 'press-definition.yaml');
    await cluster.kubectl(['apply', '-f', definition]);
    await cluster.kubectl([
      'wait',
      '--for=condition=Established',
      'crd/presses.press.example',
      '--timeout=60s',
    ]);
    const apply = ['apply', '--dry-run=server', '--validate=strict', '-f', join(folder.path, 'objects')];
    const { stderr, stdout } = await cluster.kubectl(apply);
    const refused = new Set([...stderr.matchAll(/objects\/(\d{5})\.json/g)].map(([, at]) => Number(at)));
    // Every object was judged by the server: each is either refused by file or told as done.
    const done = stdout.split('\n').filter((line) => line.includes('(server dry run)')).length;
    expect(done + refused.size).toBe(all.length);

    const custom = readCustomKinds([{ shown: definition, bytes: await readFile(definition) }]);
    const check = createObjectCheck(custom);
    const disagreements = all.flatMap(({ what, object }, at) => {
      const [read] = readKubernetesObjects('object.json', Buffer.from(JSON.stringify(object)), []);
      const ours = read ? check.judge(read, `~${KUBERNETES_VERSION}`) : [];
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
      `${all.length} objects, ${refused.size} refused by Kubernetes ${KUBERNETES_VERSION}; the same verdict on ${all.length - disagreements.length}`,
    );
  });

  test('of generated schemas with combinations is, for custom resources, that of a real API server', async () => {
    await using folder = await temporaryDirectory('custom-schemas');
    const [crd, all] = [join(folder.path, 'definition.json'), join(folder.path, 'objects')];
    await writeFile(crd, PROBE_DEFINITION);
    await mkdir(all);
    await Promise.all(
      PROBES.map(({ object }) =>
        writeFile(join(all, `${object.metadata.name}.json`), JSON.stringify(object)),
      ),
    );
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
    expect(taken.size + refused.difference(taken).size).toBe(PROBES.length);

    const check = createObjectCheck(readCustomKinds([{ shown: crd, bytes: Buffer.from(PROBE_DEFINITION) }]));
    const disagreements = PROBES.flatMap(({ schema, object }) => {
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
    expect(taken.size).toBeGreaterThan(PROBES.length / 4);
    expect(refused.size).toBeGreaterThan(PROBES.length / 4);
  });
});
