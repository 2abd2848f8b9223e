import { describe, expect, it } from 'vitest';
import type { LiveObject } from '../../../../../agent/apply/kubernetes/api/kubernetes-api.ts';
import { keyOf } from '../../../../../agent/apply/kubernetes/desired/object-key.ts';
import { policyOf } from '../../../../../agent/apply/kubernetes/desired/marks.ts';
import type { WantedObject } from '../../../../../agent/apply/kubernetes/desired/wanted-object.ts';
import type { SettleOptions } from '../../../../../agent/apply/kubernetes/health/settle/settle-options.ts';
import { settleKubernetes } from '../../../../../agent/apply/kubernetes/health/settle-kubernetes.ts';
import type { CheckResult } from '../../../../../agent/model/target.ts';
import { isFleetError } from '../../../../../bundles/errors.ts';
import { type MemoryApi, memoryApi } from '../memory-api.ts';
import { type VirtualClock, virtualClock } from '../virtual-clock.ts';
import { condition, custom, deployment, job, type Live, live, waitingPod } from './live-objects.ts';

const wantedOf = (object: Live, wait = true): WantedObject => {
  const { apiVersion, kind, metadata } = object as unknown as LiveObject;
  const { name, namespace } = metadata;
  return {
    key: keyOf({ apiVersion, kind, name, namespace }),
    group: apiVersion.includes('/') ? (apiVersion.split('/')[0] as string) : '',
    apiVersion,
    kind,
    namespace,
    name,
    object: object as unknown as LiveObject,
    hash: '',
    place: 'app.yaml (document 1)',
    policy: { ...policyOf({}), wait },
  };
};

/** What the memory's API gives to the first object. */
const FIRST_VERSION = '101';

const WAITING = { replicas: 3, updatedReplicas: 3, availableReplicas: 1, readyReplicas: 1 };

const NEW_SET = live('apps/v1', 'ReplicaSet', {
  metadata: {
    name: 'order-api-7',
    uid: 'uid-new-set',
    annotations: { 'deployment.kubernetes.io/revision': '3' },
    ownerReferences: [
      {
        apiVersion: 'apps/v1',
        kind: 'Deployment',
        name: 'order-api',
        uid: 'uid-Deployment',
        controller: true,
      },
    ],
  },
});

const podOf = (set: string, reason: string, name = 'order-api-7-abc'): Live =>
  waitingPod(
    reason,
    'image till:9 not found',
    { restartCount: 3, lastState: { terminated: { exitCode: 2 } } },
    {
      name,
      uid: `uid-${name}`,
      ownerReferences: [{ apiVersion: 'apps/v1', kind: 'ReplicaSet', name: set, uid: set, controller: true }],
    },
  );

type World = { readonly api: MemoryApi; readonly clock: VirtualClock };

const settled = async (
  objects: readonly WantedObject[],
  prepare: (world: World) => void,
  { timeoutMs = 300_000, ...options }: Partial<SettleOptions> & { readonly timeoutMs?: number } = {},
): Promise<{
  readonly checks: readonly CheckResult[];
  readonly seconds: number;
  readonly api: MemoryApi;
}> => {
  using clock = virtualClock();
  const api = memoryApi();
  prepare({ api, clock });
  const signal = new AbortController().signal;
  const checks = await settleKubernetes(api, objects, timeoutMs, signal, { clock, ...options });
  return { checks, seconds: clock.elapsedMs() / 1000, api };
};

const failedOf = (checks: readonly CheckResult[]): readonly string[] =>
  checks.filter(({ outcome }) => outcome === 'failed').map(({ name, message }) => `${name}: ${message}`);

describe('settleKubernetes', () => {
  it('passes at once with one result when every object is Current', async () => {
    const config = live('v1', 'ConfigMap', {});
    const { checks, seconds } = await settled([wantedOf(deployment()), wantedOf(config)], ({ api }) => {
      api.put(deployment());
      api.put(config);
    });
    expect(checks).toEqual([{ name: 'objects', outcome: 'passed', message: '2 objects healthy' }]);
    expect(seconds).toBeLessThan(1);
  });

  it('sees a Deployment become available by a watch, after a few lists', async () => {
    const { checks, seconds, api } = await settled([wantedOf(deployment())], ({ api: cluster, clock }) => {
      cluster.put(deployment(WAITING));
      clock.at(42_000, () => cluster.put(deployment()));
    });
    expect(failedOf(checks)).toEqual([]);
    expect(seconds).toBeGreaterThanOrEqual(42);
    expect(seconds).toBeLessThan(43);
    // Deployment, before its watch begins; then once the pods and replica sets of its namespace.
    expect(api.counts).toMatchObject({ list: 6, watch: 3 });
  });

  it('ends when the first object is over its own time, which may be longer than that of the others', async () => {
    const timed = (timeoutMs: number): WantedObject => {
      const wanted = wantedOf(deployment());
      return { ...wanted, policy: { ...wanted.policy, timeoutMs } };
    };
    const never = ({ api }: World): void => api.put(deployment(WAITING));
    const short = await settled([timed(20_000)], never, { timeoutMs: 60_000 });
    expect(failedOf(short.checks)[0]).toContain('after 20 s');
    expect(short.seconds).toBeLessThan(23);
    const long = await settled([timed(120_000)], never, { timeoutMs: 60_000 });
    expect(failedOf(long.checks)[0]).toContain('after 120 s');
    expect(long.seconds).toBeGreaterThanOrEqual(120);
  });

  it('ends as soon as every object is Current or has finally failed', async () => {
    const failing = job({ conditions: [condition('Failed', 'True', 'BackoffLimitExceeded', 'three tries')] });
    const { checks, seconds } = await settled(
      [wantedOf(deployment()), wantedOf(failing)],
      ({ api, clock }) => {
        api.put(deployment(WAITING));
        api.put(job({ active: 1 }));
        clock.at(9000, () => api.put(failing));
      },
    );
    expect(checks).toEqual([
      { name: 'Job web/order-api', outcome: 'failed', message: 'BackoffLimitExceeded: three tries' },
      {
        name: 'unfinished objects',
        outcome: 'skipped',
        message: '1 object not ready when the wait ended because of the failed',
      },
    ]);
    expect(seconds).toBeLessThan(11);
  });

  it('fails a Deployment whose pod crashes for 30 seconds, with the exit code', async () => {
    const { checks, seconds } = await settled([wantedOf(deployment())], ({ api }) => {
      api.put(deployment(WAITING));
      api.put(NEW_SET);
      api.put(podOf('uid-new-set', 'CrashLoopBackOff'));
    });
    expect(failedOf(checks)).toEqual([
      'Deployment web/order-api: 1 of 3 replicas available; pod order-api-7-abc: container api: CrashLoopBackOff, exit code 2, 3 restarts',
    ]);
    expect(seconds).toBeGreaterThan(30);
    expect(seconds).toBeLessThan(40);
  });

  it('names the reason of an image that cannot be pulled and the number of pods', async () => {
    const { checks } = await settled([wantedOf(deployment())], ({ api }) => {
      api.put(deployment(WAITING));
      api.put(NEW_SET);
      api.put(podOf('uid-new-set', 'ImagePullBackOff'));
      api.put(podOf('uid-new-set', 'ImagePullBackOff', 'order-api-7-def'));
    });
    expect(failedOf(checks)).toEqual([
      'Deployment web/order-api: 1 of 3 replicas available; pod order-api-7-abc: container api: ImagePullBackOff: image till:9 not found (and 1 more pod)',
    ]);
  });

  it('ignores the pods of an older revision', async () => {
    const old = {
      ...NEW_SET,
      metadata: {
        ...NEW_SET.metadata,
        name: 'order-api-6',
        uid: 'uid-old-set',
        annotations: { 'deployment.kubernetes.io/revision': '2' },
      },
    };
    const { checks, seconds } = await settled([wantedOf(deployment())], ({ api, clock }) => {
      api.put(deployment(WAITING));
      api.put(NEW_SET);
      api.put(old);
      api.put(podOf('uid-old-set', 'CrashLoopBackOff', 'order-api-6-xyz'));
      clock.at(90_000, () => api.put(deployment()));
    });
    expect(failedOf(checks)).toEqual([]);
    expect(seconds).toBeGreaterThanOrEqual(90);
  });

  it('restarts the crash timeout when a dependency that it may have waited for appears', async () => {
    const database = deployment({}, {}, { name: 'db', uid: 'uid-db' });
    const { checks, seconds } = await settled(
      [wantedOf(deployment()), wantedOf(database)],
      ({ api, clock }) => {
        api.put(deployment(WAITING));
        api.put(NEW_SET);
        api.put(podOf('uid-new-set', 'CrashLoopBackOff'));
        api.put(deployment(WAITING, {}, { name: 'db', uid: 'uid-db' }));
        clock.at(60_000, () => api.put(database));
        clock.at(80_000, () => api.put(deployment()));
      },
    );
    expect(failedOf(checks)).toEqual([]);
    expect(seconds).toBeGreaterThanOrEqual(80);
  });

  it('reports after its timeout what each object waits for, with the last event', async () => {
    const stuck = live('v1', 'PersistentVolumeClaim', {
      spec: { storageClassName: 'fast' },
      status: { phase: 'Pending' },
    });
    const event = (reason: string, message: string, lastTimestamp: string): object => ({
      ...live('v1', 'Event', { metadata: { name: reason } }),
      involvedObject: { uid: 'uid-PersistentVolumeClaim' },
      type: 'Warning',
      reason,
      message,
      count: 7,
      lastTimestamp,
    });
    const { checks, seconds } = await settled(
      [wantedOf(stuck), wantedOf(deployment())],
      ({ api }) => {
        api.put(stuck);
        api.put(deployment(WAITING));
        api.put(event('ProvisioningFailed', 'no such\nstorage class', '2026-03-01T10:02:00Z'));
        api.put(event('Older', 'something', '2026-03-01T10:01:00Z'));
      },
      { timeoutMs: 60_000 },
    );
    expect(failedOf(checks)).toEqual([
      'PersistentVolumeClaim web/order-api: it is not bound yet (storage class fast) (InProgress after 60 s); last event: ProvisioningFailed: no such storage class (7 times)',
      'Deployment web/order-api: 1 of 3 replicas available (InProgress after 60 s)',
    ]);
    expect(seconds).toBeGreaterThanOrEqual(60);
    expect(seconds).toBeLessThan(63);
  });

  it('takes an object without a status for healthy only after the observation window', async () => {
    const till = custom(undefined);
    const quiet = await settled([wantedOf(till)], ({ api }) => api.put(till));
    expect(failedOf(quiet.checks)).toEqual([]);
    expect(quiet.seconds).toBeGreaterThanOrEqual(5);
    const slow = await settled([wantedOf(till)], ({ api, clock }) => {
      api.put(till);
      clock.at(3000, () => api.put(custom({ conditions: [condition('Ready', 'False', 'Opening')] })));
      clock.at(20_000, () => api.put(custom({ conditions: [condition('Ready', 'True')] })));
    });
    expect(failedOf(slow.checks)).toEqual([]);
    expect(slow.seconds).toBeGreaterThanOrEqual(20);
  });

  it('ignores a status that is older than the change', async () => {
    const able = { conditions: [condition('AbleToScale', 'True', 'ReadyForNewScale')] };
    const scaler = (status: object): Live =>
      live('autoscaling/v2', 'HorizontalPodAutoscaler', {
        metadata: { generation: undefined },
        status,
      });
    const old = scaler(able);
    const wanted = wantedOf(old);
    const unchanged = await settled([wanted], ({ api }) => api.put(old));
    expect(unchanged.seconds).toBeLessThan(1);
    const changed = new Map([[wanted.key, FIRST_VERSION]]);
    // Its controller looks every 15 seconds, and writes only where something differs from before.
    const silent = await settled([wanted], ({ api }) => api.put(old), { changed });
    expect(failedOf(silent.checks)).toEqual([]);
    expect(silent.seconds).toBeGreaterThanOrEqual(20);
    const spoken = await settled(
      [wanted],
      ({ api, clock }) => {
        api.put(old);
        clock.at(14_000, () => api.put(scaler(able)));
      },
      { changed },
    );
    expect(spoken.seconds).toBeGreaterThanOrEqual(14);
    expect(spoken.seconds).toBeLessThan(15);
    const gone = [condition('AbleToScale', 'False', 'FailedGetScale', 'no Deployment web')];
    const bad = await settled(
      [wanted],
      ({ api, clock }) => {
        api.put(old);
        clock.at(14_000, () => api.put(scaler({ conditions: gone })));
      },
      { changed },
    );
    expect(failedOf(bad.checks)[0]).toContain('FailedGetScale: no Deployment web');
  });

  it('waits for the controller of a changed custom resource to observe it, at most for the window', async () => {
    const ready = custom({ conditions: [condition('Ready', 'True')] });
    const wanted = wantedOf(ready);
    const changed = new Map([[wanted.key, FIRST_VERSION]]);
    const silent = await settled([wanted], ({ api }) => api.put(ready), { changed });
    expect(failedOf(silent.checks)).toEqual([]);
    expect(silent.seconds).toBeGreaterThanOrEqual(5);
    const seen = custom({ observedGeneration: 2, conditions: [condition('Ready', 'True')] });
    const named = await settled([wanted], ({ api }) => api.put(seen), { changed });
    expect(named.seconds).toBeLessThan(1);
  });

  it('leaves out objects with fleet-ferry/wait: disabled', async () => {
    const { checks } = await settled([wantedOf(deployment(), false), wantedOf(job())], ({ api }) => {
      api.put(deployment(WAITING));
      api.put(job({ conditions: [condition('Complete', 'True')] }));
    });
    expect(checks).toEqual([
      {
        name: 'objects',
        outcome: 'passed',
        message: '1 object healthy, 1 object left out (fleet-ferry/wait: disabled)',
      },
    ]);
    const none = await settled([wantedOf(deployment(), false)], ({ api }) => api.put(deployment(WAITING)));
    expect(none.checks).toEqual([
      {
        name: 'objects not waited for',
        outcome: 'skipped',
        message: '1 object left out (fleet-ferry/wait: disabled)',
      },
    ]);
  });

  it('names at most 25 of thousands of failed objects', async () => {
    const many = Array.from({ length: 3000 }, (_, index) =>
      live('batch/v1', 'Job', {
        metadata: { name: `job-${index}` },
        status: { conditions: [condition('Failed', 'True', 'DeadlineExceeded', 'x'.repeat(5000))] },
      }),
    );
    const { checks } = await settled(
      many.map((one) => wantedOf(one)),
      ({ api }) => many.forEach((one) => api.put(one)),
    );
    expect(checks).toHaveLength(26);
    expect(checks.at(-1)).toEqual({
      name: 'more objects',
      outcome: 'failed',
      message: '2975 objects more failed too',
    });
    expect(JSON.stringify(checks).length).toBeLessThan(20_000);
  });

  it('fails an object that disappeared, but not a complete Job with ttlSecondsAfterFinished', async () => {
    const complete = job({ conditions: [condition('Complete', 'True')] }, { ttlSecondsAfterFinished: 5 });
    const { checks, seconds } = await settled(
      [wantedOf(deployment()), wantedOf(job({}, { ttlSecondsAfterFinished: 5 }))],
      ({ api, clock }) => {
        api.put(deployment());
        api.put(job({ active: 1 }, { ttlSecondsAfterFinished: 5 }));
        clock.at(1, () => api.drop(deployment()));
        clock.at(4000, () => api.drop(complete));
      },
    );
    expect(failedOf(checks)).toEqual(['Deployment web/order-api: it is not there any more']);
    expect(seconds).toBeLessThan(40);
  });

  it.each([
    ['failed', 'True', 'BackoffLimitExceeded: Job has reached the limit'],
    ['was running', 'False', 'it was removed before it was complete: it runs: 0 pods active'],
  ] as const)(
    'fails a Job that is deleted at once and of which the last state is that it %s',
    async (_, status, said) => {
      const spec = { ttlSecondsAfterFinished: 0 };
      const ended = job(
        { conditions: [condition('Failed', status, 'BackoffLimitExceeded', 'Job has reached the limit')] },
        spec,
      );
      const { checks } = await settled([wantedOf(job({}, spec))], ({ api, clock }) => {
        api.put(job({ active: 1 }, spec));
        clock.at(4000, () => {
          api.put(ended);
          api.drop(ended);
        });
      });
      expect(failedOf(checks)).toEqual([`Job web/order-api: ${said}`]);
    },
  );

  it('fails a Job that others suspended and that was deleted before it ran', async () => {
    const spec = { ttlSecondsAfterFinished: 0 };
    const suspended = job({ conditions: [condition('Suspended', 'True')] }, { ...spec, suspend: true });
    const { checks } = await settled([wantedOf(job({}, spec))], ({ api, clock }) => {
      api.put(suspended);
      clock.at(4000, () => api.drop(suspended));
    });
    expect(failedOf(checks)).toEqual([
      'Job web/order-api: it was removed before it was complete: it is suspended, and not by its package',
    ]);
  });

  it('does not wait for a claim that WaitForFirstConsumer leaves pending', async () => {
    const claim = live('v1', 'PersistentVolumeClaim', {
      spec: { storageClassName: 'local' },
      status: { phase: 'Pending' },
    });
    const { checks, seconds } = await settled([wantedOf(claim)], ({ api }) => {
      api.put(claim);
      api.put({
        ...live('storage.k8s.io/v1', 'StorageClass', { metadata: { name: 'local', namespace: undefined } }),
        volumeBindingMode: 'WaitForFirstConsumer',
      });
    });
    expect(failedOf(checks)).toEqual([]);
    expect(seconds).toBeLessThan(1);
  });
});

describe('a server that goes away while a package settles', () => {
  it('does not count against the timeout of the package', async () => {
    const { checks, seconds } = await settled(
      [wantedOf(deployment())],
      ({ api, clock }) => {
        api.put(deployment(WAITING));
        clock.at(10_000, api.goAway);
        clock.at(50_000, api.comeBack);
        clock.at(70_000, () => api.put(deployment()));
      },
      { timeoutMs: 50_000 },
    );
    expect(failedOf(checks)).toEqual([]);
    expect(seconds).toBeGreaterThanOrEqual(70);
  });

  it('is API_UNREACHABLE and retryable after more than a minute', async () => {
    const run = settled([wantedOf(deployment())], ({ api, clock }) => {
      api.put(deployment(WAITING));
      clock.at(10_000, api.goAway);
    });
    await expect(run).rejects.toSatisfy((error) => isFleetError(error, 'API_UNREACHABLE') && error.retryable);
  });

  it('and has compacted its history (410) is listed again', async () => {
    const { checks, api } = await settled([wantedOf(deployment())], ({ api: cluster, clock }) => {
      cluster.put(deployment(WAITING));
      clock.at(900, () => {
        cluster.put(deployment());
        cluster.compact();
      });
    });
    expect(failedOf(checks)).toEqual([]);
    // Four before the watch.
    expect(api.counts.list).toBe(5);
  });

  it('and freezes a watch is asked again before the package fails', async () => {
    const { checks } = await settled([wantedOf(deployment())], ({ api, clock }) => {
      api.put(deployment(WAITING));
      clock.at(1000, api.freeze);
      clock.at(2000, () => api.put(deployment()));
    });
    expect(failedOf(checks)).toEqual([]);
  });

  it('and answers neither a watch nor a list is API_UNREACHABLE', async () => {
    const run = settled([wantedOf(deployment())], ({ api, clock }) => {
      api.put(deployment(WAITING));
      clock.at(1000, api.freeze);
      clock.at(299_000, api.goAway);
    });
    await expect(run).rejects.toSatisfy((error) => isFleetError(error, 'API_UNREACHABLE'));
  });

  it('and denies watching is listed at intervals', async () => {
    const { checks, seconds } = await settled([wantedOf(deployment())], ({ api, clock }) => {
      api.deny('watch');
      api.put(deployment(WAITING));
      clock.at(20_000, () => api.put(deployment()));
    });
    expect(failedOf(checks)).toEqual([]);
    expect(seconds).toBeLessThan(26);
  });

  it('and denies listing is API_DENIED', async () => {
    const run = settled([wantedOf(deployment())], ({ api }) => api.deny('list'));
    await expect(run).rejects.toSatisfy((error) => isFleetError(error, 'API_DENIED'));
  });
});

describe('a webhook of admission', () => {
  const hook = (failurePolicy = 'Fail') => ({
    ...live('admissionregistration.k8s.io/v1', 'ValidatingWebhookConfiguration', {
      metadata: { name: 'prices', namespace: undefined },
    }),
    webhooks: [
      {
        name: 'prices.shop.example',
        failurePolicy,
        clientConfig: { service: { namespace: 'web', name: 'prices' } },
      },
    ],
  });
  const slice = (ready: boolean | undefined) => ({
    ...live('discovery.k8s.io/v1', 'EndpointSlice', {
      metadata: { name: 'prices-abc', labels: { 'kubernetes.io/service-name': 'prices' } },
    }),
    endpoints: [{ addresses: ['10.1.1.1'], conditions: { ready } }],
  });

  it('is waited for until its Service has a ready endpoint', async () => {
    const { checks, seconds } = await settled([wantedOf(hook())], ({ api, clock }) => {
      api.put(hook());
      clock.at(4000, () => api.put(slice(false)));
      clock.at(20_000, () => api.put(slice(undefined)));
    });
    expect(failedOf(checks)).toEqual([]);
    expect(seconds).toBeGreaterThanOrEqual(20);
  });

  it('whose Service has none after the timeout is named with it', async () => {
    const { checks } = await settled([wantedOf(hook())], ({ api }) => {
      api.put(hook());
      api.put(slice(false));
    });
    expect(failedOf(checks).join()).toContain(
      'Service web/prices of its webhook prices.shop.example has no ready endpoint (InProgress after',
    );
  });

  it('whose workload comes later is not waited for', async () => {
    const { checks } = await settled([wantedOf(hook())], ({ api }) => api.put(hook()), {
      later: new Set(['web']),
    });
    expect(failedOf(checks)).toEqual([]);
  });

  it('that ignores failures, or whose endpoints the account may not read, is not waited for', async () => {
    const ignoring = await settled([wantedOf(hook('Ignore'))], ({ api }) => api.put(hook('Ignore')));
    expect(failedOf(ignoring.checks)).toEqual([]);
    const denied = await settled([wantedOf(hook())], ({ api }) => {
      api.put(hook());
      api.deny('list EndpointSlice');
    });
    expect(failedOf(denied.checks)).toEqual([]);
  });
});

it('waiting stops with its signal', async () => {
  using clock = virtualClock();
  const api = memoryApi();
  api.put(deployment(WAITING));
  const controller = new AbortController();
  clock.at(5000, () => controller.abort());
  const run = settleKubernetes(api, [wantedOf(deployment())], 60_000, controller.signal, { clock });
  await expect(run).rejects.toSatisfy((error) => isFleetError(error, 'ABORTED'));
});
