import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { readKubernetesObjects } from '../../../scheduler/model/kubernetes/kubernetes-object.ts';
import { createObjectCheck } from '../../../scheduler/plan/validate/kubernetes/create-object-check.ts';
import { readCustomKinds } from '../../../scheduler/plan/validate/kubernetes/custom-kinds.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { KUBERNETES_VERSION } from '../../harness/parts/kube.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { GAPS } from './kubernetes-validation/gaps.ts';
import { mutationsOf } from './kubernetes-validation/mutate-object.ts';

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
  test('is that of a real API server, but for the gaps that are listed', async () => {
    await using folder = await temporaryDirectory('validation');
    const all = await candidates();
    await mkdir(join(folder.path, 'objects'));
    const fileOf = (at: number) => join(folder.path, 'objects', `${String(at).padStart(5, '0')}.json`);
    await Promise.all(all.map(({ object }, at) => writeFile(fileOf(at), JSON.stringify(object))));
    await using cluster = await startOwnCluster({ kube, kwok, nodes: 1 });
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
});
