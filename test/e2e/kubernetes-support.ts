import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { Cluster } from '../harness/kubernetes/cluster.ts';
import { succeed } from '../harness/run/run-command.ts';
import type { FactoryLine } from './kubernetes-line.ts';

/** Each is in an object of the namespace of a package. */
const PLANTED = {
  secret: 'secret-Krokus-77',
  config: 'config-Primel-4',
  environment: 'environment-Aster-9',
  annotation: 'annotation-Mohn-5',
};

/** Within the quota of the namespace. */
const SMALL = { requests: { cpu: '1m', memory: '1Mi' }, limits: { cpu: '1m', memory: '4Mi' } };

const KINDS = ['pods', 'events', 'objects', 'version'] as const;

/**
 * The office asks, the agent answers at its next visit to the real hub, and the office reads: what the API server says of the objects of
 * packages, of pods and of events, and nothing of what a Secret, a ConfigMap or an environment holds.
 */
export const answersSupport = async (cluster: Cluster, line: FactoryLine): Promise<void> => {
  const { office } = line;
  const namespace = line.namespaces.control;
  const apply = async (object: object): Promise<void> =>
    void succeed(await cluster.kubectl(['apply', '-f', '-'], { input: JSON.stringify(object) }));
  const metadata = (name: string) => ({ name, namespace, annotations: { note: PLANTED.annotation } });
  await apply({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: metadata('own'),
    stringData: { pin: PLANTED.secret },
  });
  await apply({
    apiVersion: 'v1',
    kind: 'ConfigMap',
    metadata: metadata('own'),
    data: { text: PLANTED.config },
  });
  await apply({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: metadata('own'),
    spec: {
      containers: [
        {
          name: 'own',
          image: 'registry.invalid/own:1',
          resources: SMALL,
          env: [{ name: 'PIN', value: PLANTED.environment }],
        },
      ],
    },
  });
  const asked = succeed(
    await office.scheduler('support', 'request', 'plant-7', '--reason', 'the line stands', '--json'),
  );
  const [{ id }] = (JSON.parse(asked.stdout) as { readonly requests: [{ readonly id: string }] }).requests;
  await line.until('the office has the answer', async () => {
    const listed = succeed(await office.scheduler('support', 'list', 'plant-7'));
    return listed.stdout.includes('answered');
  });
  const out = join(await mkdtemp(join(line.at('.'), 'support-')), 'out');
  const shown = succeed(await office.scheduler('support', 'show', 'plant-7'));
  expect(shown.stdout).toContain(`answers request ${id}`);
  succeed(await office.scheduler('support', 'show', 'plant-7', '--out', out));
  const read = async (path: string): Promise<unknown> => JSON.parse(await readFile(join(out, path), 'utf8'));
  const [pods, events, objects, version] = await Promise.all(
    KINDS.map((kind) => read(`cluster/${kind}.json`)),
  );
  const git = JSON.parse(succeed(await cluster.kubectl(['get', '--raw', '/version'])).stdout) as {
    readonly gitVersion: string;
  };
  expect(JSON.stringify(version)).toContain(git.gitVersion.replace(/^v/, ''));
  expect(objects).toEqual(
    expect.arrayContaining([
      expect.objectContaining({
        kind: 'Deployment',
        namespace,
        name: 'line-control',
        status: expect.objectContaining({
          conditions: expect.arrayContaining([
            expect.objectContaining({ type: 'Available', status: 'True' }),
          ]),
        }),
      }),
    ]),
  );
  expect(pods).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ kind: 'Pod', namespace, name: 'own' }),
      expect.objectContaining({ phase: 'Running', containers: [expect.objectContaining({ ready: true })] }),
    ]),
  );
  expect(events).toEqual(
    expect.arrayContaining([
      expect.objectContaining({ object: expect.objectContaining({ namespace }), reason: expect.any(String) }),
    ]),
  );
  const files = (await readdir(out, { recursive: true, withFileTypes: true })).filter((entry) =>
    entry.isFile(),
  );
  const texts = await Promise.all(files.map((entry) => readFile(join(entry.parentPath, entry.name), 'utf8')));
  for (const planted of Object.values(PLANTED))
    for (const form of [planted, Buffer.from(planted).toString('base64')])
      expect(texts.filter((text) => text.includes(form))).toEqual([]);
  await cluster.kubectl([
    'delete',
    'pod,secret,configmap',
    'own',
    `--namespace=${namespace}`,
    '--wait=false',
  ]);
};
