import { describe, expect, it } from 'vitest';
import type { LiveObject } from '../../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { kubernetesExclusive } from '../../../../../agent/apply/kubernetes/lease/kubernetes-exclusive.ts';
import { LEASE_TIMES, type LeaseOptions } from '../../../../../agent/apply/kubernetes/lease/lease-options.ts';
import { withLease } from '../../../../../agent/apply/kubernetes/lease/with-lease.ts';
import { type FleetError, isFleetError } from '../../../../../bundles/errors.ts';
import { type MemoryApi, memoryApi } from '../memory-api.ts';
import { type VirtualClock, virtualClock } from '../virtual-clock.ts';

const NAMESPACE = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'fleet' } };
const LEASE = {
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  namespace: 'fleet',
  name: 'fleet-agent-acme',
};
const NEVER = new AbortController().signal;

const world = () => {
  const api = memoryApi();
  api.put(NAMESPACE);
  return { api, clock: virtualClock() };
};

const optionsOf = (clock: VirtualClock, holder: string, more: Partial<LeaseOptions> = {}): LeaseOptions => ({
  ...LEASE_TIMES,
  namespace: 'fleet',
  name: 'fleet-agent-acme',
  holder,
  clock,
  ...more,
});

const specOf = async (api: MemoryApi): Promise<Readonly<Record<string, unknown>>> => {
  const lease = (await api.read(LEASE, NEVER)) as LiveObject;
  return lease['spec'] as Readonly<Record<string, unknown>>;
};

/** A lease of another agent, as it last wrote it. */
const leaseOf = (holder: string, more: object = {}): object => ({
  apiVersion: 'coordination.k8s.io/v1',
  kind: 'Lease',
  metadata: { namespace: 'fleet', name: 'fleet-agent-acme' },
  spec: {
    holderIdentity: holder,
    leaseDurationSeconds: 15,
    acquireTime: '2026-03-01T09:59:00.000000Z',
    // A clock that is years ahead: nobody may look at it.
    renewTime: '2031-01-01T00:00:00.000000Z',
    leaseTransitions: 4,
    ...more,
  },
});

const until = (signal: AbortSignal): Promise<never> => {
  const { promise, reject } = Promise.withResolvers<never>();
  signal.addEventListener('abort', () => reject(new Error('stopped')));
  return promise;
};

const errorOf = (run: Promise<unknown>): Promise<FleetError | undefined> =>
  run.then(
    () => undefined,
    (error: unknown) => error as FleetError,
  );

describe('work under a lease', () => {
  it('holds the lease, renews it, and gives it back', async () => {
    const { api, clock } = world();
    using _ = clock;
    const held = await withLease(api, optionsOf(clock, 'a'), NEVER, async (signal) => {
      await clock.sleep(60_000, signal);
      expect(signal.aborted).toBe(false);
      return specOf(api);
    });
    expect(held).toMatchObject({
      holderIdentity: 'a',
      leaseDurationSeconds: 15,
      leaseTransitions: 0,
      acquireTime: '2026-03-01T10:00:00.000000Z',
      renewTime: '2026-03-01T10:00:55.000000Z',
    });
    expect(await specOf(api)).not.toHaveProperty('holderIdentity');
    // Eleven renewals in a minute, and the one that gives it back.
    expect(api.counts.replace).toBe(12);
  });

  it('creates the missing namespace of the agent', async () => {
    const api = memoryApi();
    using clock = virtualClock();
    await withLease(api, optionsOf(clock, 'a'), NEVER, () => Promise.resolve());
    expect(await api.read({ apiVersion: 'v1', kind: 'Namespace', name: 'fleet' }, NEVER)).toBeDefined();
    expect(await specOf(api)).toMatchObject({ leaseTransitions: 0 });
  });

  it('is BUSY with the name of the holder while another agent renews the lease', async () => {
    const { api, clock } = world();
    using _ = clock;
    const other = new AbortController();
    const holding = errorOf(withLease(api, optionsOf(clock, 'lyon-1/main on box7'), other.signal, until));
    await clock.sleep(20_000, NEVER);
    const error = await errorOf(withLease(api, optionsOf(clock, 'b'), NEVER, () => Promise.resolve()));
    expect(error).toMatchObject({
      code: 'BUSY',
      message: expect.stringContaining('lyon-1/main on box7, since 2026-03-01T10:00:00'),
      subject: 'Lease fleet/fleet-agent-acme',
    });
    expect(clock.elapsedMs()).toBeLessThan(30_000);
    other.abort();
    await holding;
  });

  it('begins as soon as the other agent gives the lease back', async () => {
    const { api, clock } = world();
    using _ = clock;
    const order: string[] = [];
    const first = withLease(api, optionsOf(clock, 'a'), NEVER, async (signal) => {
      await clock.sleep(3000, signal);
      order.push('a');
    });
    await clock.sleep(100, NEVER);
    const second = withLease(api, optionsOf(clock, 'b'), NEVER, async () => void order.push('b'));
    await Promise.all([first, second]);
    expect(order).toEqual(['a', 'b']);
    expect(clock.elapsedMs()).toBeLessThan(6000);
    expect(await specOf(api)).toMatchObject({ leaseTransitions: 1 });
  });

  it('takes over from a dead holder after the lease duration by its own clock, and no sooner', async () => {
    const { api, clock } = world();
    using _ = clock;
    api.put(leaseOf('dead'));
    const spec = await withLease(api, optionsOf(clock, 'b'), NEVER, () => specOf(api));
    expect(spec).toMatchObject({ holderIdentity: 'b', leaseTransitions: 5 });
    expect(clock.elapsedMs()).toBeGreaterThan(15_000);
    expect(clock.elapsedMs()).toBeLessThan(18_000);
  });

  it('takes over within 130 seconds from a holder with an absurd lease duration', async () => {
    const { api, clock } = world();
    using _ = clock;
    api.put(leaseOf('dead', { leaseDurationSeconds: 2_000_000_000 }));
    await withLease(api, optionsOf(clock, 'b'), NEVER, () => Promise.resolve());
    expect(clock.elapsedMs()).toBeLessThan(130_000);
  });

  it('is held by one agent only when many want it at the same moment', async () => {
    const { api, clock } = world();
    using _ = clock;
    api.put(leaseOf('dead'));
    let inside = 0;
    let most = 0;
    const work = async (signal: AbortSignal): Promise<void> => {
      most = Math.max(most, ++inside);
      await clock.sleep(700, signal);
      inside--;
    };
    const options = { waitMs: 60_000 };
    await Promise.all(
      ['a', 'b', 'c', 'd', 'e'].map((holder) =>
        withLease(api, optionsOf(clock, holder, options), NEVER, work),
      ),
    );
    expect(most).toBe(1);
  });
});

describe('withLease when the lease is lost', () => {
  it('stops the work with BUSY when another agent took the lease', async () => {
    const { api, clock } = world();
    using _ = clock;
    clock.at(12_000, () => api.put(leaseOf('thief')));
    const error = await errorOf(withLease(api, optionsOf(clock, 'a'), NEVER, until));
    expect(error).toMatchObject({ code: 'BUSY', message: expect.stringContaining('thief') });
    expect(clock.elapsedMs()).toBeLessThan(16_000);
    // It is the other one's now.
    expect(await specOf(api)).toMatchObject({ holderIdentity: 'thief' });
  });

  it('stops the work with API_UNREACHABLE before other agents may take the lease', async () => {
    const { api, clock } = world();
    using _ = clock;
    clock.at(7000, api.goAway);
    const error = await errorOf(withLease(api, optionsOf(clock, 'a'), NEVER, until));
    expect(error).toMatchObject({ code: 'API_UNREACHABLE' });
    // Renewed at 5 s; 10 s later it stops, and others may begin at 20 s.
    expect(clock.elapsedMs()).toBeGreaterThanOrEqual(15_000);
    expect(clock.elapsedMs()).toBeLessThan(20_000);
  });

  it('keeps the lease over a short outage', async () => {
    const { api, clock } = world();
    using _ = clock;
    clock.at(7000, api.goAway);
    clock.at(13_000, api.comeBack);
    await withLease(api, optionsOf(clock, 'a'), NEVER, async (signal) => {
      await clock.sleep(40_000, signal);
      expect(signal.aborted).toBe(false);
    });
  });

  it('keeps the lease over a slow renewal with fractions of milliseconds on the clock', async () => {
    const { api, clock } = world();
    using _ = clock;
    clock.at(7000, api.goAway);
    clock.at(13_000, api.comeBack);
    const fine = { ...clock, elapsedMs: () => clock.elapsedMs() * 1.000_037 + 0.437_867 };
    await withLease(api, { ...optionsOf(clock, 'a'), clock: fine }, NEVER, async (signal) => {
      await clock.sleep(40_000, signal);
      expect(signal.aborted).toBe(false);
    });
  });

  it('keeps the lease when only the answer to a renewal was lost', async () => {
    const { api, clock } = world();
    using _ = clock;
    // Somebody labels it: another resource version, the same holder.
    clock.at(7000, () => api.put(leaseOf('a')));
    await withLease(api, optionsOf(clock, 'a'), NEVER, async (signal) => {
      await clock.sleep(40_000, signal);
      expect(signal.aborted).toBe(false);
    });
  });
});

describe('withLease when the work ends', () => {
  it('gives the lease back although the answer to its last renewal was lost, and leaves that of another agent alone', async () => {
    for (const [holder, left] of [
      ['a', undefined],
      ['thief', 'thief'],
    ] as const) {
      const { api, clock } = world();
      using _ = clock;
      clock.at(2000, () => api.put(leaseOf(holder)));
      await withLease(api, optionsOf(clock, 'a'), NEVER, (signal) => clock.sleep(3000, signal));
      expect((await specOf(api))['holderIdentity']).toBe(left);
    }
  });

  it('throws the error of the work and gives the lease back', async () => {
    const { api, clock } = world();
    using _ = clock;
    const run = withLease(api, optionsOf(clock, 'a'), NEVER, () => Promise.reject(new Error('its own')));
    await expect(run).rejects.toThrow('its own');
    expect(await specOf(api)).not.toHaveProperty('holderIdentity');
  });

  it('gives the lease back when its signal stops the work', async () => {
    const { api, clock } = world();
    using _ = clock;
    const controller = new AbortController();
    clock.at(2000, () => controller.abort());
    await expect(withLease(api, optionsOf(clock, 'a'), controller.signal, until)).rejects.toThrow('stopped');
    expect(await specOf(api)).not.toHaveProperty('holderIdentity');
  });

  it('is ABORTED when its signal stops it while it waits for the lease', async () => {
    const { api, clock } = world();
    using _ = clock;
    api.put(leaseOf('dead'));
    const controller = new AbortController();
    clock.at(2000, () => controller.abort());
    const run = withLease(api, optionsOf(clock, 'a'), controller.signal, until);
    await expect(run).rejects.toSatisfy((error) => isFleetError(error, 'ABORTED'));
  });
});

describe('kubernetesExclusive', () => {
  const who = { namespace: 'fleet', fleet: 'acme', who: 'a', place: () => 'p1' };

  it('takes the lease named after the fleet', async () => {
    const { api, clock } = world();
    using _ = clock;
    const exclusive = kubernetesExclusive(() => Promise.resolve(api), who, { clock });
    expect(await exclusive(NEVER, () => specOf(api))).toMatchObject({ holderIdentity: 'a, p1' });
  });

  it('takes the lease at once from an earlier process in the same place, and from no other holder', async () => {
    for (const [left, place, atOnce] of [
      ['a, process 7 on old-pod, p1', 'p1', true],
      ['a, process 7 on old-pod, p1', 'p2', false],
      ['a, process 7 on old-pod, p1', undefined, false],
      ['a, process 7 on old-pod, xp1', 'p1', false],
    ] as const) {
      const { api, clock } = world();
      using _ = clock;
      api.put(leaseOf(left));
      const us = { ...who, who: 'a, process 9 on new-pod', place: () => place };
      const exclusive = kubernetesExclusive(() => Promise.resolve(api), us, { clock });
      const spec = await exclusive(NEVER, () => specOf(api));
      expect(spec).toMatchObject({ leaseTransitions: 5 });
      expect(clock.elapsedMs() < 15_000, `${left} for ${place}`).toBe(atOnce);
    }
  });

  it('is taken once by what is under way at the same time, and given back by the last', async () => {
    const { api, clock } = world();
    using _ = clock;
    const exclusive = kubernetesExclusive(() => Promise.resolve(api), who, { clock });
    const first = exclusive(NEVER, (signal) => clock.sleep(20_000, signal));
    const second = exclusive(NEVER, (signal) => clock.sleep(40_000, signal));
    await first;
    expect(await specOf(api)).toMatchObject({ holderIdentity: 'a, p1', leaseTransitions: 0 });
    await second;
    expect(await specOf(api)).not.toHaveProperty('holderIdentity');
    const third = await exclusive(NEVER, () => specOf(api));
    expect(third).toMatchObject({ holderIdentity: 'a, p1', leaseTransitions: 1 });
  });

  it('ends all that is under way with its reason when it is lost', async () => {
    const { api, clock } = world();
    using _ = clock;
    const exclusive = kubernetesExclusive(() => Promise.resolve(api), who, { clock });
    const under = [exclusive(NEVER, until), exclusive(NEVER, until)].map(errorOf);
    await clock.sleep(7000, NEVER);
    api.put(leaseOf('other'));
    for (const error of await Promise.all(under))
      expect(error).toMatchObject({ code: 'BUSY', message: expect.stringContaining('other') });
  });

  it('names each holder differently when the place is unknown', async () => {
    const { api, clock } = world();
    using _ = clock;
    const us = { ...who, place: () => undefined };
    const holders = [];
    for (const one of [us, us]) {
      const exclusive = kubernetesExclusive(() => Promise.resolve(api), one, { clock });
      holders.push((await exclusive(NEVER, () => specOf(api)))['holderIdentity']);
    }
    expect(holders[0]).toMatch(/^a, [0-9a-f]{16}$/);
    expect(holders[0]).not.toBe(holders[1]);
  });

  it('is BUSY without waiting for the next packages of the same look, and asks again at the next look', async () => {
    const { api, clock } = world();
    using _ = clock;
    const other = new AbortController();
    const holding = errorOf(withLease(api, optionsOf(clock, 'other'), other.signal, until));
    await clock.sleep(100, NEVER);
    const exclusive = kubernetesExclusive(() => Promise.resolve(api), who, { clock });
    const work = () => Promise.resolve('done');
    await expect(exclusive(NEVER, work)).rejects.toSatisfy((error) => isFleetError(error, 'BUSY'));
    const before = clock.elapsedMs();
    await expect(exclusive(NEVER, work)).rejects.toSatisfy((error) => isFleetError(error, 'BUSY'));
    expect(clock.elapsedMs()).toBe(before);
    other.abort();
    await holding;
    await clock.sleep(10_000, NEVER);
    expect(await exclusive(NEVER, work)).toBe('done');
  });
});
