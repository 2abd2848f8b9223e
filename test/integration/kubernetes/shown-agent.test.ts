import { readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { openClusterAccess } from '../../../agent/apply/kubernetes/api/cluster-access.ts';
import { openKubernetesApi } from '../../../agent/apply/kubernetes/api/open-kubernetes-api.ts';
import { kubernetesTarget } from '../../../agent/apply/kubernetes/kubernetes-target.ts';
import { readConfig } from '../../../agent/config/read-config.ts';
import type { Target } from '../../../agent/model/target.ts';
import { createPublisher } from '../../../agent/publish/create-publisher.ts';
import { observe } from '../../../agent/observe/observe.ts';
import { compareBytes } from '../../../bundles/digest.ts';
import { copiesIn, createSite, FLEET, pack } from '../../agent/apply/kubernetes/kubernetes-site.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { describeOnKubernetes } from '../../harness/kubernetes/describe-on-kubernetes.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { accountToken, tokenKubeconfig } from './account-token.ts';

const DEPLOY = join(import.meta.dirname, '../../../deploy/kubernetes/base');
const NAMESPACE = 'fleet-agent';
const { signal } = new AbortController();

const map = (name: string, text = 'x'): string =>
  `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: ${name}, namespace: default}\ndata: {text: ${text}}\n---\n`;
const secret = `apiVersion: v1\nkind: Secret\nmetadata: {name: hidden, namespace: default}\nstringData: {word: hunter2}\n---\n`;
const neverReady = `apiVersion: v1
kind: Pod
metadata: {name: never, namespace: default}
spec: {nodeSelector: {no: where}, containers: [{name: a, image: a}]}
`;

describeOnKubernetes(['kwok'], 'an agent that kubectl shows', ({ kube }, { kwok }) => {
  let cluster: OwnCluster;

  beforeAll(async () => {
    cluster = await startOwnCluster({ kube, kwok, nodes: 0 });
    for (const name of [NAMESPACE, 'bare'])
      await cluster.request('POST', '/api/v1/namespaces', { metadata: { name } });
    const account = await readFile(join(DEPLOY, 'account.yaml'), 'utf8');
    const placed = parseAllDocuments(account).map((document) => {
      document.setIn(['metadata', 'namespace'], NAMESPACE);
      return String(document);
    });
    await run(['apply', '-f', '-'], placed.join('---\n'));
    await run(['create', 'serviceaccount', 'nobody', '--namespace=bare']);
  });
  afterAll(() => cluster[Symbol.asyncDispose]());

  const run = async (words: readonly string[], input = ''): Promise<string> => {
    const { code, stdout, stderr } = await cluster.kubectl([...words], { input });
    expect(code, stderr).toBe(0);
    return stdout;
  };
  const targetOf = (kubeconfig: string, namespace: string): Target =>
    kubernetesTarget({
      open: async () =>
        openKubernetesApi(await openClusterAccess({ kubeconfig, context: '' }), {
          patienceMs: 500,
          requestMs: 10_000,
        }),
      fleet: FLEET,
      lease: { namespace, who: 'plant-7/line-1', place: () => undefined },
      healthTimeoutMs: 3000,
      stepTimeoutMs: 10_000,
      adopt: 'ifUnowned',
      copies: copiesIn(dirname(cluster.kubeconfig)),
    });
  /** A site whose packages are applied by an administrator, while the agent shows itself by the rights of `account`. */
  const siteOf = async (namespace = NAMESPACE, account = 'fleet-agent') => {
    const site = await createSite(targetOf(cluster.kubeconfig, NAMESPACE));
    const own = await tokenKubeconfig(cluster, await accountToken(cluster, namespace, account), site.folder);
    const { show } = targetOf(own, namespace);
    const [target] = site.agent.targets;
    Object.assign(site.agent, { targets: [{ ...target, show }] });
    const config = readConfig('/dev/null', { state: site.agent.state.directory });
    const publisher = await createPublisher(site.agent, config, '1.2.3');
    return { site, publisher };
  };
  type Shown = {
    readonly reason: string;
    readonly message: string;
    readonly count: number;
    readonly type: string;
  };
  const events = async (namespace = NAMESPACE): Promise<readonly Shown[]> =>
    (
      JSON.parse(await run(['get', 'events', `--namespace=${namespace}`, '--output=json'])) as {
        readonly items: readonly Shown[];
      }
    ).items;

  it('is reported once as unknown to a cluster without the definition, and has events', async () => {
    const { site, publisher } = await siteOf();
    await using _ = site;
    await site.release([pack('early', map('early-map'))]);
    expect(await publisher.publish(signal)).toEqual([
      expect.stringContaining('the cluster has no kind FleetAgent'),
    ]);
    expect(await events()).toMatchObject([
      {
        reason: 'Applied',
        message: 'early: release 1 applied (1 created)',
        type: 'Normal',
        involvedObject: { kind: 'Lease', name: `fleet-agent-${FLEET}` },
        source: { component: 'fleet-agent' },
      },
    ]);
  });

  it('names each right that its account lacks', async () => {
    await run(['apply', '-f', join(DEPLOY, 'definition.yaml')]);
    await run(['wait', '--for=condition=Established', 'crd/fleetagents.fleet-ferry.internal']);
    const { site, publisher } = await siteOf('bare', 'nobody');
    await using _ = site;
    await site.release([pack('bare', map('bare-map'))]);
    const said = await publisher.publish(signal);
    expect(said).toHaveLength(2);
    expect(said.join('\n')).toMatch(/fleetagents.*\n.*events.*account\.yaml has the right/s);
  });

  it('shows packages, release, last look and the cause of a wait in one line and in its conditions', async () => {
    const { site, publisher } = await siteOf();
    await using _ = site;
    await site.release([pack('good', `${map('good-map')}${secret}`)]);
    await observe(site.agent);
    expect(await publisher.publish(signal)).toEqual([]);
    const [head = '', row = ''] = (await run(['get', 'fleetagents', '--all-namespaces'])).split('\n');
    expect(head.split(/\s+/)).toEqual('NAMESPACE NAME READY REASON HEALTHY RELEASE OUTBOX LOOKED'.split(' '));
    expect(row).toMatch(/^fleet-agent +halden +\S+ +\S+ +1\/1 /);
    await site.release([pack('good', map('good-map')), pack('never', neverReady)]);
    await publisher.publish(signal);
    const shown = JSON.parse(
      await run(['get', 'fleetagent', FLEET, `--namespace=${NAMESPACE}`, '--output=json']),
    ) as { readonly status: object };
    expect(shown.status).toMatchObject({
      healthy: '1/2',
      version: '1.2.3',
      packages: [
        { name: 'good', status: 'healthy', release: 1, drift: 0 },
        { name: 'never', status: 'failed' },
      ],
      conditions: [{ type: 'Ready', status: 'False', reason: 'Failed' }],
    });
    // The server lists them by name, which is a hash.
    const warnings = (await events())
      .filter(({ type }) => type === 'Warning')
      .map(({ reason, message }) => `${reason} ${message}`);
    expect(warnings.toSorted(compareBytes)).toEqual([
      expect.stringMatching(/^Failed never: CHECK_FAILED: /),
      expect.stringMatching(/^RolledBack never: rolled back: CHECK_FAILED: /),
    ]);
    expect(JSON.stringify([shown, await events()])).not.toContain('hunter2');
  });

  it('is written only when something changed, and counts what happens again', async () => {
    const { site, publisher } = await siteOf();
    await using _ = site;
    await site.release([pack('fought', map('fought-map'))]);
    await observe(site.agent);
    await publisher.publish(signal);
    const version = () =>
      run([
        'get',
        'fleetagent',
        FLEET,
        `--namespace=${NAMESPACE}`,
        '--output=jsonpath={.metadata.resourceVersion}',
      ]);
    const before = await version();
    await publisher.publish(signal);
    expect(await version()).toBe(before);
    for (let round = 0; round < 3; round += 1) {
      await run(['patch', 'configmap', 'fought-map', '--patch={"data":{"text":"edited"}}']);
      await observe(site.agent);
      await publisher.publish(signal);
    }
    const corrected = (await events()).filter(({ message }) => message.startsWith('fought: corrected'));
    expect(corrected).toMatchObject([{ reason: 'Corrected', count: 3 }]);
    // The agent starts again: it writes none of them a second time.
    const config = readConfig('/dev/null', { state: site.agent.state.directory });
    await using again = await createPublisher(site.agent, config, '1.2.3');
    const count = (await events()).length;
    await again.publish(signal);
    expect(await events()).toHaveLength(count);
  });

  it('writes at most twenty events at a time, and the number of the others', async () => {
    const { site, publisher } = await siteOf();
    await using _ = site;
    const packages = Array.from({ length: 30 }, (_, at) => pack(`many-${at}`, map(`many-${at}`)));
    await site.release(packages);
    await publisher.publish(signal);
    const many = (await events()).filter(({ message }) => /^many-|more events/.test(message));
    expect(many).toHaveLength(21);
    expect(many.find(({ reason }) => reason === 'More')?.message).toBe(
      '10 more events; all of them: fleet-agent history',
    );
  });
});
