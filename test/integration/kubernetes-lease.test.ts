import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { describeWith } from '../harness/describe-with.ts';
import type { OwnCluster } from '../harness/kubernetes/cluster.ts';
import { startOwnCluster } from '../harness/kubernetes/own-cluster.ts';

const PROGRAM = join(import.meta.dirname, 'kubernetes-lease/hold-lease.ts');
const LEASE = '/apis/coordination.k8s.io/v1/namespaces/fleet-system/leases/fleet-agent-acme';

type Spec = { readonly holderIdentity?: string; readonly leaseTransitions?: number };

type Agent = {
  readonly process: ChildProcess;
  /** Its next line; undefined when it ended. */
  readonly says: () => Promise<string | undefined>;
};

describeWith(['kube', 'kwok'], 'two agents of one fleet on one cluster', ({ kube, kwok }) => {
  let cluster: OwnCluster;
  const agents: Agent[] = [];

  beforeAll(async () => {
    cluster = await startOwnCluster({ kube, kwok });
  });
  afterAll(() => cluster?.[Symbol.asyncDispose]());
  afterEach(async () => {
    for (const { process: child } of agents.splice(0)) {
      if (child.exitCode !== null || child.signalCode !== null) continue;
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      await exit;
    }
  });

  const start = (holder: string, waitMs = 0): Agent => {
    const argv = [PROGRAM, cluster.kubeconfig, holder, String(waitMs)];
    const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
    const says = async (): Promise<string | undefined> => {
      const { value, done } = await lines.next();
      return done ? undefined : value;
    };
    const agent = { process: child, says };
    agents.push(agent);
    return agent;
  };
  const readSpec = async (): Promise<Spec> => {
    const { body } = await cluster.request('GET', LEASE);
    return (body as { readonly spec: Spec }).spec;
  };

  it('work one after the other; who comes while one works is told by whom and since when', async () => {
    const first = start('lyon-1/main');
    expect(await first.says()).toBe('working');
    const second = start('lyon-1/other');
    expect(await second.says()).toMatch(
      /^BUSY another fleet-agent is at work on this cluster: lyon-1\/main, since 20\d\d-\S+Z$/,
    );
    first.process.kill('SIGTERM');
    expect(await first.says()).toMatch(/^ABORTED/);
    const third = start('lyon-1/other');
    const begin = Date.now();
    expect(await third.says()).toBe('working');
    // Given back, not run out.
    expect(Date.now() - begin).toBeLessThan(8000);
    expect(await readSpec()).toMatchObject({ holderIdentity: 'lyon-1/other' });
  });

  it('take over from one that was killed, when its time is over', async () => {
    const first = start('doomed');
    expect(await first.says()).toBe('working');
    first.process.kill('SIGKILL');
    await once(first.process, 'exit');
    const died = Date.now();
    const { leaseTransitions = 0 } = await readSpec();
    const second = start('heir');
    expect(await second.says()).toBe('working');
    const seconds = (Date.now() - died) / 1000;
    expect(seconds).toBeGreaterThan(15);
    expect(seconds).toBeLessThan(30);
    expect(await readSpec()).toMatchObject({
      holderIdentity: 'heir',
      leaseTransitions: leaseTransitions + 1,
    });
  });

  it('stop at once when the lease is taken from them', async () => {
    const first = start('robbed');
    expect(await first.says()).toBe('working');
    const { body } = await cluster.request('GET', LEASE);
    const lease = body as { readonly spec: object };
    const { status } = await cluster.request('PUT', LEASE, {
      ...lease,
      spec: { ...lease.spec, holderIdentity: 'robber' },
    });
    expect(status).toBe(200);
    const begin = Date.now();
    expect(await first.says()).toMatch(/^BUSY another fleet-agent took this cluster over: robber$/);
    expect(Date.now() - begin).toBeLessThan(8000);
    await cluster.request('DELETE', LEASE);
  });

  it('stop when the server is away for longer than a renewal may take, before another one could begin', async () => {
    const first = start('cut off');
    expect(await first.says()).toBe('working');
    const begin = Date.now();
    await cluster.killApiServer();
    expect(await first.says()).toMatch(
      /^API_UNREACHABLE the lease on this cluster could not be renewed for 10 s$/,
    );
    expect(Date.now() - begin).toBeLessThan(14_500);
    await cluster.startApiServer();
  });
});
