import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../harness/run/describe-with.ts';
import { fillEtcd, makeRoomInEtcd } from '../harness/neighbours/faulty-etcd.ts';
import { writesOf } from '../harness/kubernetes/audit-log.ts';
import type { OwnCluster } from '../harness/kubernetes/cluster.ts';
import { startOwnCluster } from '../harness/kubernetes/own-cluster.ts';
import { type FactoryLine, startLine } from './kubernetes-line.ts';
import { succeed } from '../harness/run/run-command.ts';

describeWith(['kube', 'kwok', 'dockerRegistry'], 'a line of a factory whose API server fails', (paths) => {
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
  });
  afterAll(() => stack.disposeAsync());

  it('is asked for no write at all while nothing changes', async () => {
    const agentWrites = async (): Promise<number> => writesOf(await cluster.readAudit()).length;
    const before = await agentWrites();
    expect(before).toBeGreaterThan(10);
    succeed(await line.call(['run', '--once'], { FLEET_AGENT_ON_DRIFT: 'correct' }));
    await sleep(4000);
    expect(await agentWrites()).toBe(before);
    expect(await line.stopAgent()).toBe(0);
    await line.startAgent('3s');
  });

  it('goes on automatically when the API server is killed in the middle of a package and comes back', async () => {
    await line.release();
    await line.catchPhase('apply', 'settle');
    await cluster.killApiServer();
    expect(line.peek().open?.assignment).toBe('line-control-line');
    await sleep(2000);
    await cluster.startApiServer();
    await line.allRight();
    expect(line.events().filter(({ code }) => code?.startsWith('API_'))).toEqual([]);
  });

  it('waits for a store that is full, says so, and is right when somebody made room', async () => {
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
});
