import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { acquireLock } from '../../../agent/store/lock.ts';
import { describeWith } from '../../harness/run/describe-with.ts';
import type { OwnCluster } from '../../harness/kubernetes/cluster.ts';
import { startOwnCluster } from '../../harness/kubernetes/own-cluster.ts';
import { testProgramFile } from '../../harness/run/program-file.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';

const PROGRAM = testProgramFile('test/integration/kubernetes/kubernetes-lease/hold-lease.ts');
const leaseOf = (fleet: string): string =>
  `/apis/coordination.k8s.io/v1/namespaces/fleet-system/leases/fleet-agent-${fleet}`;
const LEASE = leaseOf('acme');

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

  const start = (holder: string, { waitMs = 0, state = '', fleet = 'acme' } = {}): Agent => {
    const argv = [PROGRAM, cluster.kubeconfig, holder, String(waitMs), state, fleet];
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
  const readSpec = async (fleet = 'acme'): Promise<Spec> => {
    const { body } = await cluster.request('GET', leaseOf(fleet));
    return (body as { readonly spec: Spec }).spec;
  };

  it('work one after the other; another one gets the holder and the time since when', async () => {
    const first = start('lyon-1/main');
    expect(await first.says()).toBe('working');
    const second = start('lyon-1/other');
    expect(await second.says()).toMatch(
      /^BUSY another fleet-agent is at work on this cluster: lyon-1\/main, [0-9a-f]{16}, since 20\d\d-\S+Z$/,
    );
    first.process.kill('SIGTERM');
    expect(await first.says()).toMatch(/^ABORTED/);
    const third = start('lyon-1/other');
    const begin = Date.now();
    expect(await third.says()).toBe('working');
    // Given back: an agent that may not wait gets it, well before the 15 s of a lease are over.
    expect(Date.now() - begin).toBeLessThan(12_000);
    expect(await readSpec()).toMatchObject({
      holderIdentity: expect.stringMatching(/^lyon-1\/other, /) as string,
    });
  });

  /** An agent of that state directory that had the lease when it was killed. @returns when, and what the lease said then */
  const killed = async (state = '', fleet = 'acme'): Promise<{ died: number; leaseTransitions: number }> => {
    const first = start('doomed', { state, fleet });
    expect(await first.says()).toBe('working');
    first.process.kill('SIGKILL');
    await once(first.process, 'exit');
    const { leaseTransitions = 0 } = await readSpec(fleet);
    return { died: Date.now(), leaseTransitions };
  };
  /** As the enrolment leaves it. */
  const stateIn = async (folder: string): Promise<string> => {
    const state = join(folder, 'state');
    using _lock = await acquireLock(state, 'enroll', new Date());
    return state;
  };

  it('take over at once from one that was killed in the same state directory, also in a pod of another name', async () => {
    await using folder = await temporaryDirectory('lease');
    const state = await stateIn(folder.path);
    const { died, leaseTransitions } = await killed(state);
    const second = start('heir on another-pod', { state });
    expect(await second.says()).toBe('working');
    expect((Date.now() - died) / 1000).toBeLessThan(12);
    expect(await readSpec()).toMatchObject({
      holderIdentity: expect.stringMatching(/^heir on another-pod, /) as string,
      leaseTransitions: leaseTransitions + 1,
    });
    expect(await start('twin', { state }).says()).toMatch(/^BUSY fleet-agent run .* is at work in /);
  });

  const waitAsCopy = async (fleet: string): Promise<void> => {
    await using folder = await temporaryDirectory('lease');
    const state = await stateIn(folder.path);
    const { died } = await killed(state, fleet);
    const copy = join(folder.path, 'copy');
    await cp(state, copy, { recursive: true });
    const second = start('copy', { state: copy, fleet });
    expect(await second.says()).toBe('working');
    expect((Date.now() - died) / 1000).toBeGreaterThan(15);
  };
  const waitAsHeir = async (fleet: string): Promise<void> => {
    const { died, leaseTransitions } = await killed('', fleet);
    const second = start('heir', { fleet });
    expect(await second.says()).toBe('working');
    const seconds = (Date.now() - died) / 1000;
    expect(seconds).toBeGreaterThan(15);
    expect(seconds).toBeLessThan(30);
    expect(await readSpec(fleet)).toMatchObject({
      holderIdentity: expect.stringMatching(/^heir, /) as string,
      leaseTransitions: leaseTransitions + 1,
    });
  };

  // Two fleets with a lease each, so that both waits are one.
  it('take over from one that was killed when its lease has expired, also with a copy of its state directory', async () => {
    await Promise.all([waitAsCopy('copied'), waitAsHeir('inherited')]);
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
