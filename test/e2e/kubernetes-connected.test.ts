import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../harness/run/describe-with.ts';
import { fillEtcd, makeRoomInEtcd } from '../harness/neighbours/faulty-etcd.ts';
import { writesOf } from '../harness/kubernetes/audit-log.ts';
import type { OwnCluster } from '../harness/kubernetes/cluster.ts';
import { startOwnCluster } from '../harness/kubernetes/own-cluster.ts';
import { type FactoryLine, startLine } from './kubernetes-line.ts';
import { chooseCluster } from '../harness/kubernetes/choose-cluster.ts';
import { describeWithPods } from '../harness/kubernetes/describe-with-cluster.ts';
import { startNodeCluster } from '../harness/kubernetes/node-cluster.ts';
import { startCluster } from '../harness/kubernetes/start-cluster.ts';
import { parts } from '../harness/parts.ts';
import { LONG } from '../harness/run/long.ts';
import { answersSupport } from './kubernetes-support.ts';
import {
  casesOfLine,
  isNotWritten,
  isRefusedByPolicy,
  getsItsValues,
  keepsSecondOff,
  quiet,
  removesInBudget,
} from './kubernetes-cases.ts';

const NODE_PARTS = ['nodeBase', 'kube', 'busybox', 'dockerRegistry'] as const;
const TITLE = 'a line of a factory, on line,';

const { how } = chooseCluster();
const hasPods = how === 'given' || how === 'k3d';
const hasNode = NODE_PARTS.every((name) => parts[name].present);

describeWith(['kube', 'kwok', 'dockerRegistry'], `${TITLE} on a cluster whose API server fails`, (paths) => {
  const stack = new AsyncDisposableStack();
  let cluster: OwnCluster;
  let line: FactoryLine;

  beforeAll(async () => {
    cluster = stack.use(await startOwnCluster({ ...paths, nodes: 1, audit: true, etcdQuota: 24 << 20 }));
    line = stack.use(await startLine(cluster, paths));
    await line.release();
    await line.enrol();
    await line.startAgent('10m');
    await line.allRight();
    await getsItsValues(line);
  });
  afterAll(() => stack.disposeAsync());

  it('is not written to while nothing changes, so that read access is enough', async () => {
    // kubectl's question of what the reader may do is a review, which is created.
    const agentWrites = async (): Promise<number> =>
      writesOf(await cluster.readAudit()).filter(({ userAgent }) => !userAgent?.startsWith('kubectl/'))
        .length;
    // Events of what happened follow it by a moment.
    const before = await quiet(agentWrites);
    expect(before).toBeGreaterThan(10);
    await isNotWritten(cluster, line);
    expect(await agentWrites()).toBe(before);
    expect(await line.stopAgent()).toBe(0);
    await line.startAgent('3s');
  });

  it('answers a request of the office with a support bundle, which shows the cluster and no secret', () =>
    answersSupport(cluster, line));

  it('continues automatically after a kill of the API server during a package', async () => {
    await line.release();
    await line.catchPhase('apply', 'settle');
    await cluster.killApiServer();
    expect(line.peek().open?.assignment).toBe('line-control-line');
    await sleep(2000);
    await cluster.startApiServer();
    await line.allRight();
    expect(line.events().filter(({ code }) => code?.startsWith('API_'))).toEqual([]);
  });

  it('names the package that a policy refuses, and applies the others', () =>
    isRefusedByPolicy(cluster, line));

  it('makes a second agent wait, with the name of the working one', () => keepsSecondOff(cluster, line));

  it('waits while etcd is full, reports it, and continues when there is room', async () => {
    await fillEtcd(cluster);
    await line.release();
    await line.until(
      'it says so',
      () => line.peek().packages['line-control-line']?.code === 'API_UNREACHABLE',
    );
    const { stdout } = await line.call(['status']);
    expect(stdout).toMatch(/^line-control-line .*API_UNREACHABLE: the store behind .* is full/m);
    await makeRoomInEtcd(cluster);
    await line.allRight(90_000);
  });

  it('removes objects beyond the budget only when confirmed', () => removesInBudget(line));
});

// In every run, real pods are those of the quickstart on a cluster and of agent-in-cluster.
if (hasNode && LONG)
  describeWith(NODE_PARTS, `${TITLE} on a node`, (paths) => {
    casesOfLine(() => startNodeCluster('line-node', paths), 'real', paths);
  });

// What decides is outside: the count of what was skipped names the outermost group.
if (LONG || hasPods)
  describeWithPods(`${TITLE} on the cluster that this machine has`, () => {
    describeWith(['dockerRegistry'], 'with a registry', ({ dockerRegistry }) => {
      const pods = hasPods ? 'real' : 'fake';
      // Not needed by fake nodes; describeWithPods has seen to it for real ones.
      const busybox = parts.busybox.present ? parts.busybox.path : '';
      casesOfLine(() => startCluster({ nodes: 1 }), pods, { dockerRegistry, busybox });
    });
  });
