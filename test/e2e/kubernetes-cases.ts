import { cp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Cluster } from '../harness/kubernetes/cluster.ts';
import { lookAtVersions } from '../harness/kubernetes/object-versions.ts';
import { makeReader } from '../harness/kubernetes/reader-account.ts';
import {
  CONTROL_FILE,
  type FactoryLine,
  type LineOptions,
  startLine,
  TELEMETRY_FILE,
} from './kubernetes-line.ts';
import { bringRunningImages, LINE_IMAGES, pageOf } from './reliability/running-images.ts';
import { succeed } from '../harness/run/run-command.ts';

const START_MS = 300_000;
const [CONTROL_IMAGE] = LINE_IMAGES;

/** Where no node has a place for it. */
const neverHealthy = (text: string): string =>
  text.replace('      containers:\n', '      nodeSelector: {no: where}\n      containers:\n');

/**
 * What an agent does for a cluster while nothing fails: the same on whatever cluster `open` gives, of which only API and
 * rights are needed.
 */
export const casesOfLine = (
  open: () => Promise<Cluster>,
  pods: Cluster['nodes'],
  options: LineOptions & { readonly busybox: string },
): void => {
  const stack = new AsyncDisposableStack();
  let cluster: Cluster;
  let line: FactoryLine;

  beforeAll(async () => {
    cluster = stack.use(await open());
    expect(cluster.nodes).toBe(pods);
    line = stack.use(await startLine(cluster, options));
  }, START_MS);
  afterAll(() => stack.disposeAsync(), START_MS);

  /** What a pod of line-control serves; '' while there is none. */
  const page = async (): Promise<string> => {
    const inPod = ['exec', 'deployment/line-control', `--namespace=${line.namespaces.control}`, '--'];
    const fetched = await cluster.kubectl([...inPod, 'wget', '-q', '-O-', 'http://127.0.0.1:8080/']);
    return fetched.stdout;
  };

  it('is rolled out from the registry, by images with a digest', async () => {
    await line.release();
    await line.enrol();
    // What is corrected before that was seen by watching.
    await line.startAgent('10m');
    await line.allRight();
    expect(Object.keys(line.peek().packages)).toEqual(['line-control-line', 'telemetry-line']);
    const live = await line.deployment(line.namespaces.control, 'line-control');
    expect(live?.spec.template.spec.containers[0]?.image).toMatch(
      /^registry\.halden\.example\/line-control@sha256:[0-9a-f]{64}$/,
    );
    if (pods === 'real') expect(await page()).toBe(pageOf(CONTROL_IMAGE, 'first'));
  });

  it('is not written to while nothing changes, so that read access is enough', () =>
    isNotWritten(cluster, line));

  it('is corrected as soon as someone changes something', async () => {
    const { control, telemetry } = line.namespaces;
    await cluster.request('PATCH', `/apis/apps/v1/namespaces/${telemetry}/deployments/telemetry`, {
      spec: { replicas: 3 },
    });
    await cluster.request('DELETE', `/api/v1/namespaces/${control}/configmaps/of-release-1-0`);
    await line.until('it is noticed', () => line.events().some(({ type }) => type === 'corrected'), 20_000);
    await line.allRight(40_000);
    expect(await line.stopAgent()).toBe(0);
    await line.startAgent('3s');
  });

  if (pods === 'real') {
    it('runs the next image when the release names its digest', async () => {
      await bringRunningImages(line.office, cluster, { ...options, edition: 'second' });
      await line.until('the next one serves', async () => (await page()) === pageOf(CONTROL_IMAGE, 'second'));
      await line.allRight();
    });
  }

  it('rolls back only the package that does not become healthy', async () => {
    await line.office.edit(TELEMETRY_FILE, ofEdition('second'));
    await line.office.edit(CONTROL_FILE, neverHealthy);
    await line.until('the other one runs', async () => (await editionOf(line)) === 'second');
    await line.until('it is rolled back', () => packageOf(line, 'line-control')?.status === 'failed');
    expect(packageOf(line, 'line-control')).toMatchObject({ code: 'CHECK_FAILED' });
    expect(await line.field.faults()).toEqual([]);
    const { stdout } = await line.call(['status']);
    expect(stdout).toMatch(/^line-control-line +failed .*CHECK_FAILED: /m);
    expect(stdout).toMatch(/^telemetry-line +healthy /m);
    await line.release();
    await line.allRight();
  });

  it('names the package that a policy refuses, and applies the others', () =>
    isRefusedByPolicy(cluster, line));

  it('makes a second agent wait, with the name of the working one', () => keepsSecondOff(cluster, line));

  it('removes objects beyond the budget only when confirmed', () => removesInBudget(line));
};

const packageOf = (line: FactoryLine, name: 'line-control' | 'telemetry') =>
  line.peek().packages[`${name}-line`];
const editionOf = async (line: FactoryLine): Promise<string | undefined> =>
  (await line.deployment(line.namespaces.telemetry, 'telemetry'))?.metadata.annotations?.['edition'];
const ofEdition =
  (edition: string) =>
  (text: string): string =>
    text.replace(
      /^( {2}name: telemetry\n)( {2}annotations: .*\n)?/m,
      `$1  annotations: {edition: ${edition}}\n`,
    );
/** Once two looks in a row saw the same, controllers are done with what they had to do. */
export const quiet = async <Seen>(look: () => Promise<Seen>): Promise<Seen> => {
  let before = await look();
  for (;;) {
    await sleep(1500);
    const now = await look();
    if (JSON.stringify(now) === JSON.stringify(before)) return now;
    before = now;
  }
};

/** The hub composes the values of a site's layers after the answer to its enrolment, so that the agent's first look may be before them. */
export const getsItsValues = (line: FactoryLine): Promise<void> =>
  line.until('the agent has the values of its layers', async () => {
    succeed(await line.call(['run', '--once']));
    return (await line.call(['values'])).stdout.includes('gateway.north.halden.example');
  });

/** While nothing changes nobody writes, and an account that may only read can do the job. */
export const isNotWritten = async (cluster: Cluster, line: FactoryLine): Promise<void> => {
  await getsItsValues(line);
  const name = `fleet-reader-${line.id}`;
  await using reader = await makeReader(cluster, {
    name,
    namespace: line.namespaces.agent,
    file: line.at('reader'),
  });
  const may = ['auth', 'can-i', 'patch', 'deployments', '--all-namespaces'];
  expect((await cluster.kubectl([...may, `--kubeconfig=${reader.kubeconfig}`])).stdout.trim()).toBe('no');
  const look = await lookAtVersions(cluster, Object.values(line.namespaces));
  const before = await quiet(look);
  expect(Object.keys(before).length).toBeGreaterThan(20);
  const asReader = { FLEET_AGENT_ON_DRIFT: 'correct', FLEET_AGENT_KUBECONFIG: reader.kubeconfig };
  succeed(await line.call(['run', '--once'], asReader));
  succeed(await line.call(['run', '--once'], { FLEET_AGENT_ON_DRIFT: 'correct' }));
  await sleep(4000);
  expect(await look()).toEqual(before);
};

/** A package that a policy of the cluster refuses is named, and the other is applied. */
export const isRefusedByPolicy = async (cluster: Cluster, line: FactoryLine): Promise<void> => {
  await using policy = await refuseMaps(cluster, line);
  await line.office.edit(TELEMETRY_FILE, ofEdition('third'));
  await line.release();
  await line.until('it is refused', () => packageOf(line, 'line-control')?.status === 'failed');
  expect(packageOf(line, 'line-control')).toMatchObject({
    code: 'ADMISSION_DENIED',
    message: expect.stringContaining(policy.message) as string,
  });
  await line.until('the other one runs', async () => (await editionOf(line)) === 'third');
  await policy[Symbol.asyncDispose]();
  await line.release();
  await line.allRight();
};

/** A second agent, with a copy of the state directory, is refused while the first one works. */
export const keepsSecondOff = async (cluster: Cluster, line: FactoryLine): Promise<void> => {
  await cp(line.at('state'), line.at('copy'), { recursive: true });
  await line.office.edit(CONTROL_FILE, neverHealthy);
  await line.catchPhase('settle');
  const { telemetry } = line.namespaces;
  await cluster.request('PATCH', `/apis/apps/v1/namespaces/${telemetry}/deployments/telemetry`, {
    spec: { replicas: 2 },
  });
  const second = await line.call(['run', '--once'], { FLEET_AGENT_STATE: line.at('copy') });
  expect(second.stderr + second.stdout).toMatch(/BUSY.*another fleet-agent is at work on this cluster/s);
  await line.release();
  await line.allRight();
};

/** What left the release stays until somebody confirms it, whatever budget is set later. The last case: the package is gone afterwards. */
export const removesInBudget = async (line: FactoryLine): Promise<void> => {
  await rm(join(line.office.folder, 'platform/base/workloads/line-control.yaml'));
  await line.until('it is held', () => packageOf(line, 'line-control')?.code === 'PRUNE_BUDGET');
  const { control } = line.namespaces;
  expect(await line.deployment(control, 'line-control')).toBeDefined();
  expect(await line.stopAgent()).toBe(0);
  const wider = await line.call(['run', '--once'], { FLEET_AGENT_PRUNE_BUDGET: '2' });
  expect([wider.code, wider.stdout]).toEqual([8, expect.stringContaining('PRUNE_BUDGET')]);
  expect(await line.deployment(control, 'line-control')).toBeDefined();
  succeed(await line.call(['prune']));
  expect(await line.deployment(control, 'line-control')).toBeUndefined();
  expect(Object.keys(line.peek().packages)).toEqual(['telemetry-line']);
};

/** A policy of the cluster that takes no ConfigMap of a release, in the line's namespace alone. Returns once it holds. */
const refuseMaps = async (
  cluster: Cluster,
  { id, namespaces, until }: FactoryLine,
): Promise<AsyncDisposable & { readonly message: string }> => {
  const api = '/apis/admissionregistration.k8s.io/v1';
  const name = `no-night-shift-${id}`;
  const message = 'the factory sleeps at night';
  const kinds = ['validatingadmissionpolicies', 'validatingadmissionpolicybindings'];
  const rule = {
    apiGroups: [''],
    apiVersions: ['v1'],
    operations: ['CREATE', 'UPDATE'],
    resources: ['configmaps'],
  };
  const specs = [
    {
      failurePolicy: 'Fail',
      matchConstraints: {
        resourceRules: [rule],
        namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': namespaces.control } },
      },
      validations: [{ expression: "!object.metadata.name.startsWith('of-release-')", message }],
    },
    { policyName: name, validationActions: ['Deny'] },
  ];
  await using cleanup = new AsyncDisposableStack();
  for (const [index, kind] of kinds.entries()) {
    const { status, body } = await cluster.request('POST', `${api}/${kind}`, {
      metadata: { name },
      spec: specs[index],
    });
    if (status !== 201) throw new Error(`${kind}: ${JSON.stringify(body)}`);
    cleanup.defer(async () => void (await cluster.request('DELETE', `${api}/${kind}/${name}`)));
  }
  const holds = async (): Promise<boolean> => {
    const path = `/api/v1/namespaces/${namespaces.control}/configmaps?dryRun=All`;
    return (await cluster.request('POST', path, { metadata: { name: 'of-release-x' } })).status !== 201;
  };
  await until('the policy holds', holds);
  const moved = cleanup.move();
  return {
    message,
    // The server goes by what it saw last: what it refuses after the deletion is refused for good.
    [Symbol.asyncDispose]: async () => {
      await moved.disposeAsync();
      await until('the policy is gone', async () => !(await holds()));
    },
  };
};
