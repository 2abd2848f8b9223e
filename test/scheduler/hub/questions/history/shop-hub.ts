import { openLayout } from '#bundles/formats/layout/layout';
import { readBundle } from '#bundles/formats/bundle/read-bundle';
import type { Digest } from '#bundles/digest';
import { DAY_MS, formatTime } from '#bundles/time';
import { chain, enrolled, type Happening, hubsAfter, NOW, report, type TestHub } from '../../test-hub.ts';

export const days = (count: number): Date => new Date(NOW.getTime() + count * DAY_MS);
export const QA = { environment: 'qa', clusterType: 'kiosk' };
export const PROD = { environment: 'prod', clusterType: 'kiosk' };

export const deployment = (
  version: string,
  replicas: number,
  password = 'first',
  namespace = 'shop',
): Record<string, string> => ({
  'app.yaml': JSON.stringify({
    apiVersion: 'apps/v1',
    kind: 'Deployment',
    metadata: {
      name: 'web',
      namespace,
      labels: {
        'fleet-ferry/environment': namespace.split('-')[0],
        'app.kubernetes.io/version': version,
        'helm.sh/chart': `web-${version}`,
      },
    },
    spec: {
      replicas,
      template: { spec: { containers: [{ name: 'web', image: `registry.test/web:${version}` }] } },
    },
  }),
  'secret.yaml': JSON.stringify({
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name: 'key', namespace },
    stringData: { password },
  }),
});

export const packageIn = async (hub: TestHub, bundle: Digest | undefined, id: string): Promise<Digest> => {
  const { blobs } = await openLayout(hub.layout);
  const { config } = await readBundle(blobs, bundle as Digest);
  return config.assignments.find((one) => one.id === id)?.package as Digest;
};

export const release = async (
  hub: TestHub,
  channel: typeof QA,
  version: number,
  packages: Parameters<TestHub['layoutWriter']['release']>[0]['bundles'][number]['packages'],
): Promise<Digest | undefined> => {
  const issuedAt = days(version - 10);
  const [bundle] = await hub.layoutWriter.release({
    channel,
    version,
    issuedAt,
    bundles: [{ kind: 'kubernetes', packages }],
  });
  await hub.layoutWriter.keep(channel);
  return bundle;
};

export const applied = (
  assignment: string,
  digest: Digest,
  at: Date,
  more: Partial<Happening> = {},
): Happening => ({
  type: 'package',
  assignment,
  package: digest,
  outcome: 'configured',
  at: formatTime(at),
  ...more,
});

/** web 1.0 runs in qa and prod; qa has 2.0, which fails in prod and is rolled back by hand. The last report of prod comes late. */
export const shop = hubsAfter(async (hub) => {
  const qa = await enrolled(hub, 'lab/rig-1', QA);
  const prod = await enrolled(hub, 'plant-7/press-1', PROD);
  const first = await packageIn(hub, await release(hub, PROD, 1, { web: deployment('1.0', 2) }), 'web');
  await release(hub, QA, 1, { web: deployment('1.0', 2) });
  const second = await packageIn(
    hub,
    await release(hub, QA, 2, { web: deployment('2.0', 2), extra: deployment('2.0', 1) }),
    'web',
  );
  const failing = await packageIn(
    hub,
    await release(hub, PROD, 2, { web: deployment('2.0', 5, 'second') }),
    'web',
  );
  const prodSecond = await packageIn(
    hub,
    await release(hub, PROD, 3, { web: deployment('1.0', 5, 'second') }),
    'web',
  );
  const qaLines = chain(qa, [applied('web', first, days(-9)), applied('web', second, days(-8))]);
  const prodLines = chain(prod, [
    applied('web', first, days(-9)),
    applied('web', failing, days(-7), {
      outcome: 'failed',
      code: 'CHECK_FAILED',
      message: 'check answers: 503',
    }),
    applied('web', first, days(-7), {
      type: 'rolled-back',
      code: 'ROLLED_BACK',
      message: 'by hand: oven smokes',
    }),
    applied('web', prodSecond, days(-3)),
  ]);
  const importAt = async (
    name: string,
    at: Date,
    write: (stick: string) => Promise<unknown>,
  ): Promise<void> => {
    const stick = await hub.stick(name);
    await write(stick);
    await hub.importFrom(stick, at);
  };
  await importAt('qa', days(-8), (stick) => report(stick, qa, qaLines));
  await importAt('early', days(-9), (stick) => report(stick, prod, prodLines, 1, 1));
  await importAt('last', days(-2), (stick) => report(stick, prod, prodLines, 4, 4));
  await importAt('late', days(-1), (stick) => report(stick, prod, prodLines, 2, 3));
  return { first, second, prodSecond };
});
