import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cp } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { acquireLock } from '../../../../agent/store/lock.ts';
import type { OwnCluster } from '../../../harness/kubernetes/cluster.ts';
import { startLineTo } from '../../../harness/kubernetes/line-to-cluster.ts';
import { testProgramFile } from '../../../harness/run/program-file.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';
import { type Holder, holdLease } from './lease/hold-lease.ts';

const PROGRAM = testProgramFile('test/integration/kubernetes/kubernetes-target/lease/hold-lease-apart.ts');
const leaseOf = (fleet: string): string =>
  `/apis/coordination.k8s.io/v1/namespaces/fleet-system/leases/fleet-agent-${fleet}`;

type Spec = { readonly holderIdentity?: string; readonly leaseTransitions?: number };

type Agent = {
  /** Resolves when it has the lease, or with why it ended. */
  readonly begins: Promise<string>;
  readonly ends: Promise<string>;
  readonly stop: () => void;
};

/** Too long to be waited for: what takes less did not wait for the lease to expire, however busy the machine is. */
const LONG_MS = 120_000;
const AT_ONCE_MS = 60_000;
const BRIEF_MS = 3000;

/** Tests of the lease by which one agent at a time changes a cluster. Their durations and deadlines by the defaults: with-lease.test.ts. */
export const leaseOnCluster = (cluster: () => OwnCluster): void => {
  describe('two agents of one fleet on one cluster', () => {
    const agents: Agent[] = [];
    afterEach(async () => {
      for (const { stop, ends } of agents.splice(0)) {
        stop();
        await ends;
      }
    });

    const holderOf = (holder: string, more: Partial<Holder>): Holder => ({
      kubeconfig: cluster().kubeconfig,
      fleet: 'acme',
      state: '',
      holder,
      ...more,
      times: { durationMs: LONG_MS, renewMs: 300, ...more.times },
    });
    const start = (holder: string, more: Partial<Holder> = {}): Agent => {
      const controller = new AbortController();
      const { promise, resolve } = Promise.withResolvers<string>();
      const ends = holdLease(holderOf(holder, more), controller.signal, resolve);
      const agent = { begins: Promise.race([promise, ends]), ends, stop: () => controller.abort() };
      agents.push(agent);
      return agent;
    };
    const readSpec = async (fleet = 'acme'): Promise<Spec> => {
      const { body } = await cluster().request('GET', leaseOf(fleet));
      return (body as { readonly spec: Spec }).spec;
    };

    it('work one after the other, and the waiting one reports the holder and since when', async () => {
      const first = start('lyon-1/main');
      expect(await first.begins).toBe('working');
      expect(await start('lyon-1/other').begins).toMatch(
        /^BUSY another fleet-agent is at work on this cluster: lyon-1\/main, [0-9a-f]{16}, since 20\d\d-\S+Z$/,
      );
      first.stop();
      expect(await first.ends).toMatch(/^ABORTED/);
      // Given back: an agent that may not wait gets it.
      const begin = Date.now();
      expect(await start('lyon-1/other').begins).toBe('working');
      expect(Date.now() - begin).toBeLessThan(AT_ONCE_MS);
      expect(await readSpec()).toMatchObject({
        holderIdentity: expect.stringMatching(/^lyon-1\/other, /) as string,
      });
    });

    /** An agent of that state directory that had the lease when it was killed. @returns when, and what the lease said then */
    const killed = async (more: Partial<Holder>): Promise<{ died: number; leaseTransitions: number }> => {
      const argv = [PROGRAM, JSON.stringify(holderOf('doomed', more))];
      const child = spawn(process.execPath, argv, { stdio: ['ignore', 'pipe', 'inherit'] });
      const exit = once(child, 'exit');
      const [said] = (await once(child.stdout.setEncoding('utf8'), 'data')) as [string];
      child.kill('SIGKILL');
      await exit;
      expect(said).toBe('working\n');
      const { leaseTransitions = 0 } = await readSpec(more.fleet);
      return { died: Date.now(), leaseTransitions };
    };
    /** As the enrolment leaves it. */
    const stateIn = async (folder: string): Promise<string> => {
      const state = join(folder, 'state');
      using _lock = await acquireLock(state, 'enroll', new Date());
      return state;
    };

    it('take over at once from a killed one with the same state directory, also in another pod', async () => {
      await using folder = await temporaryDirectory('lease');
      const state = await stateIn(folder.path);
      const { died, leaseTransitions } = await killed({ state });
      const second = start('heir on another-pod', { state });
      expect(await second.begins).toBe('working');
      expect(Date.now() - died).toBeLessThan(AT_ONCE_MS);
      expect(await readSpec()).toMatchObject({
        holderIdentity: expect.stringMatching(/^heir on another-pod, /) as string,
        leaseTransitions: leaseTransitions + 1,
      });
      expect(await start('twin', { state }).begins).toMatch(/^BUSY fleet-agent run .* is at work in /);
    });

    it('take over from a killed one after its lease expired, also with a copy of its state directory', async () => {
      await using folder = await temporaryDirectory('lease');
      const state = await stateIn(folder.path);
      const times = { durationMs: BRIEF_MS };
      const { died, leaseTransitions } = await killed({ state, times });
      const copy = join(folder.path, 'copy');
      await cp(state, copy, { recursive: true });
      expect(await start('copy', { state: copy, times }).begins).toBe('working');
      expect(Date.now() - died).toBeGreaterThan(BRIEF_MS);
      expect(await readSpec()).toMatchObject({
        holderIdentity: expect.stringMatching(/^copy, /) as string,
        leaseTransitions: leaseTransitions + 1,
      });
    });

    it('stop at once when another one takes their lease', async () => {
      const first = start('robbed');
      expect(await first.begins).toBe('working');
      await cluster().request('PATCH', leaseOf('acme'), { spec: { holderIdentity: 'robber' } });
      expect(await first.ends).toMatch(/^BUSY another fleet-agent took this cluster over: robber$/);
      await cluster().request('DELETE', leaseOf('acme'));
    });

    it('stop when the server is away longer than a renewal may take, before another one could begin', async () => {
      await using line = await startLineTo(cluster());
      const first = start('cut off', { kubeconfig: line.kubeconfig, times: { deadlineMs: 2000 } });
      expect(await first.begins).toBe('working');
      const begin = Date.now();
      line.set('down');
      expect(await first.ends).toMatch(
        /^API_UNREACHABLE the lease on this cluster could not be renewed for 2 s$/,
      );
      expect(Date.now() - begin).toBeLessThan(LONG_MS);
      await cluster().request('DELETE', leaseOf('acme'));
    });
  });
};
