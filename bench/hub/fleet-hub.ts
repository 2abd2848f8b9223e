import { existsSync } from 'node:fs';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { defined } from '#bundles/defined';
import { type Digest, digestOf } from '../../bundles/digest.ts';
import { openLayout, writeLayoutIndex } from '../../bundles/formats/layout/layout.ts';
import { REF_NAME } from '../../bundles/media-types.ts';
import { type Channel, formatChannel } from '../../bundles/names.ts';
import { createLimit } from '../../bundles/transport/publish/limit.ts';
import type { SigningKey } from '../../bundles/trust/keys/key.ts';
import type { SignedReport } from '../../bundles/trust/reports/report.ts';
import { openReleases } from '../../scheduler/hub/questions/history/read-releases.ts';
import { storeReports, takeReport } from '../../scheduler/hub/http/agents/take-report.ts';
import type { Hub } from '../../scheduler/hub/hub.ts';
import { judgeReport } from '../../scheduler/hub/ingest/reports/judge-report.ts';
import { newAgentRow } from '../../scheduler/hub/sites/agent-record.ts';
import { recordLinkStates } from '../../scheduler/hub/questions/state/link-states.ts';
import { openStore } from '../../scheduler/hub/store/open-store.ts';
import type { AgentRow } from '../../scheduler/hub/store/tables.ts';
import { type KeyDirectory, openKeyDirectory } from '../../scheduler/keys/key-directory.ts';
import { initDevRoot } from '../../scheduler/keys/root/init-dev-root.ts';
import type { Promotion, RolloutPolicy } from '../../scheduler/model/promotion.ts';
import { openReleases as lockReleases } from '../../scheduler/release/write/open-releases.ts';
import { startRollout } from '../../scheduler/release/rollout/begin-rollout.ts';
import { type StoredPlan, storePlan } from '../../scheduler/release/rollout/plan-document.ts';
import { planRollout } from '../../scheduler/release/rollout/plan-rollout.ts';
import { newSigningKey } from '../../test/harness/fleets/signed-fleet.ts';
import { writeSignedLayout } from '../../test/harness/fleets/signed-layout.ts';
import { type Happening, type SimulatedAgent, simulateAgent } from './simulate-agent.ts';

export const FLEET = 'bench';
export const NOW = new Date('2026-11-21T08:00:00Z');
export const ASSIGNMENTS = 50;
const SHARED = digestOf('the candidate');
const CHANNELS: readonly Channel[] = ['prod', 'qa'].flatMap((environment) =>
  Array.from({ length: 10 }, (_, index) => ({ environment, clusterType: `type-${index}` })),
);
const [PROD, QA] = [CHANNELS.slice(0, 10), CHANNELS.slice(10)];

export const siteName = (index: number): string => `site-${String(index).padStart(6, '0')}`;
export const hoursAgo = (hours: number): Date => new Date(NOW.getTime() - hours * 3_600_000);
export const names = Array.from(
  { length: ASSIGNMENTS },
  (_, index) => `app-${String(index).padStart(2, '0')}`,
);

/** Concurrent reports. */
const AT_ONCE = 64;

const STAGES: RolloutPolicy['stages'] = [
  { name: 'first', percent: 20, soakSeconds: 3600, maxFailures: { count: 1 }, approvals: 0 },
  { name: 'all', soakSeconds: 3600, maxFailures: { percent: 5 }, approvals: 1 },
];
const POLICY: RolloutPolicy = {
  name: 'staged',
  environment: 'prod',
  stages: STAGES,
  onFailure: 'stop',
  at: { file: 'bench', line: 1, column: 1 },
};

/** qa is promoted to prod, and prod to an environment that has no release yet. */
export const PROMOTION: Promotion = {
  environments: [
    { name: 'qa' },
    { name: 'prod', promotedFrom: 'qa' },
    { name: 'next', promotedFrom: 'prod' },
  ],
  promotionPolicies: [['qa', 'prod'] as const, ['prod', 'next'] as const].map(([from, to]) => ({
    name: `to-${to}`,
    from,
    to,
    mode: 'manual',
    compliance: { percent: 95, of: 'reported', require: [] },
    soakSeconds: 86_400,
    freshnessSeconds: 7 * 86_400,
    windows: [],
    freeze: [],
    checks: [],
    direct: 'allow',
    at: POLICY.at,
  })),
  rolloutPolicies: [POLICY],
  freshnessPolicies: [],
};

export type FleetHub = AsyncDisposable & {
  readonly hub: Hub;
  readonly sites: number;
  /** Of the run that made the fleet, which may be an earlier one. */
  readonly made: {
    readonly events: number;
    readonly reports: number;
    readonly seconds: number;
  };
};

export type FleetPlace = {
  /** Folder of keys and layout, and of the SQLite file if no other database is given. An empty folder is filled; another is used unchanged. */
  readonly folder: string;
  /** A PostgreSQL database. */
  readonly database?: string | undefined;
};

/**
 * A hub with sites of 50 assignments each: releases of twenty channels that are really signed, and two signed reports of each site.
 * One site in 20 sends them by medium; one in 100 lags behind in a tenth of its assignments, one of which drifts.
 */
export const openFleetHub = async (sites: number, { folder, database }: FleetPlace): Promise<FleetHub> => {
  await mkdir(folder, { recursive: true });
  const layout = join(folder, 'layout');
  if (!existsSync(join(folder, 'keys'))) {
    await initDevRoot(join(folder, 'keys'), FLEET, NOW);
    await writeLayout(await openKeyDirectory(join(folder, 'keys')), layout);
    await addSites(layout, sites);
  }
  const keys = await openKeyDirectory(join(folder, 'keys'));
  const store = await openStore(database ?? join(folder, 'hub.db'), FLEET);
  const hub: Hub = { keys, store, layout, [Symbol.asyncDispose]: () => store[Symbol.asyncDispose]() };
  const file = join(folder, database === undefined ? 'made.json' : 'made-postgresql.json');
  const known = existsSync(file) ? await readFile(file, 'utf8') : undefined;
  const made = known === undefined ? await fill(hub, sites) : (JSON.parse(known) as FleetHub['made']);
  await writeFile(file, JSON.stringify(made));
  return { hub, sites, made, [Symbol.asyncDispose]: hub[Symbol.asyncDispose] };
};

/** Files of a package: objects for a cluster, or a unit and its settings for a host. */
const filesOf = (kind: 'kubernetes' | 'host', environment: string, name: string, version: number) =>
  kind === 'host'
    ? {
        'package.json': JSON.stringify({ name, version }),
        [`units/${name}.service`]: `[Service]\nExecStart=/usr/bin/${name} --environment ${environment}\nEnvironment=VERSION=${version}\n`,
      }
    : {
        'deployment.yaml': `apiVersion: apps/v1
kind: Deployment
metadata: {name: ${name}, namespace: ${environment}-${name}, labels: {app.kubernetes.io/version: "${version}.0.0"}}
spec:
  replicas: 2
  selector: {matchLabels: {app: ${name}}}
  template:
    metadata: {labels: {app: ${name}}}
    spec:
      containers:
        - name: ${name}
          image: registry.test/shop/${name}:${version}.0.0
          resources: {limits: {memory: 128Mi}}
`,
        'service.yaml': `apiVersion: v1
kind: Service
metadata: {name: ${name}, namespace: ${environment}-${name}}
spec: {selector: {app: ${name}}, ports: [{port: 80}]}
`,
      };

/** Three releases of each channel; the newest of prod is in a rollout, and half of the packages of qa differ. */
const writeLayout = async (keys: KeyDirectory, layout: string): Promise<void> => {
  const roles = ['root', 'bundle', 'release', 'lease', 'receipt', 'audit'] as const;
  const signing = Object.fromEntries(
    await Promise.all(roles.map(async (role) => [role, await keys.key(role)])),
  ) as Record<(typeof roles)[number], SigningKey>;
  const writer = writeSignedLayout(
    { fleet: FLEET, keys: signing, roots: keys.roots.map(({ bytes }) => bytes) },
    layout,
  );
  const plans: StoredPlan[] = [];
  for (const [index, channel] of CHANNELS.entries()) {
    const { environment } = channel;
    const kind = index % 2 === 0 ? 'kubernetes' : 'host';
    for (const version of [1, 2, 3]) {
      const packages = names.map((name, at) => [
        name,
        filesOf(kind, environment, name, version + (environment === 'qa' && at % 2 === 0 ? 1 : 0)),
      ]);
      await writer.release({
        channel,
        version,
        shared: version === 3 ? SHARED : digestOf(`the candidate before ${version}`),
        issuedAt: hoursAgo(350 - 50 * version),
        bundles: [{ kind, packages: Object.fromEntries(packages) }],
        ...defined({
          plan:
            environment === 'prod' && version === 3
              ? (candidate: Digest, bundles: readonly Digest[]) => {
                  const before = { version: 2, release: digestOf('the release before') };
                  const plan = storePlan(
                    planRollout(POLICY, { channel, candidate, bundles, follows: 2, before }),
                  );
                  plans.push(plan);
                  return plan.bytes;
                }
              : undefined,
        }),
      });
      await writer.keep(channel);
    }
  }
  using releases = await lockReleases(layout, { command: 'build', now: NOW });
  for (const plan of plans) await startRollout(releases, keys, plan, hoursAgo(190));
};

/** Each site has a statement and receipts in the index of the layout. No question reads them, so they name no blob. */
const addSites = async (layout: string, sites: number): Promise<void> => {
  const opened = await openLayout(layout);
  const descriptors = Array.from({ length: sites }, (_, index) =>
    ['site', 'receipts'].map((tag) => ({
      mediaType: 'application/vnd.oci.image.manifest.v1+json' as const,
      digest: digestOf(`${tag} ${index}`),
      size: 1234,
      annotations: { [REF_NAME]: `sites/${siteName(index)}:${tag}` },
    })),
  );
  await writeLayoutIndex(opened, [...opened.manifests, ...descriptors.flat()]);
};

type Packages = ReadonlyMap<string, Digest>;

/** The packages of each release, by channel and number. */
const readPackages = async (hub: Hub): Promise<ReadonlyMap<string, Packages>> => {
  const releases = await openReleases(hub);
  const found = new Map<string, Packages>();
  for (const channel of CHANNELS)
    for (const { version, packages } of await releases.of(channel))
      found.set(
        `${formatChannel(channel)} ${version}`,
        new Map([...packages].map(([name, one]) => [name, one.package])),
      );
  return found;
};

type BenchAgent = { readonly row: AgentRow; readonly channel: Channel; readonly simulated: SimulatedAgent };

export const agentAt = (index: number, key: SigningKey): BenchAgent => {
  const channel = (index % 10 === 0 ? QA : PROD)[Math.floor(index / 10) % 10] as Channel;
  const row = newAgentRow({ site: siteName(index), agent: 'a' }, key.public.pem, channel, {}, hoursAgo(300));
  return { row, channel, simulated: simulateAgent(row.id, FLEET, key) };
};

/** An import and the packages of that release. @param shift seconds that differ from site to site */
const happeningsOf = (
  channel: Channel,
  version: number,
  packages: (name: string, at: number) => Digest,
  shift: number,
): readonly Happening[] => {
  const time = (minutes: number): Date =>
    new Date(hoursAgo(350 - 50 * version).getTime() + minutes * 60_000 + shift * 1000);
  return [
    { type: 'imported', release: { ...channel, version }, time: time(10) },
    ...names.map((assignment, at) => ({
      assignment,
      package: packages(assignment, at),
      outcome: version === 2 ? ('created' as const) : ('configured' as const),
      time: time(11 + at),
    })),
  ];
};

const fill = async (hub: Hub, sites: number): Promise<FleetHub['made']> => {
  const { store, keys } = hub;
  const packages = await readPackages(hub);
  const key = newSigningKey();
  const agents = Array.from({ length: sites }, (_, index) => agentAt(index, key));
  await store.transact(async (tx) => {
    for (let start = 0; start < agents.length; start += 500)
      await tx
        .insertInto('agent')
        .values(agents.slice(start, start + 500).map(({ row }) => row))
        .execute();
  });
  let now = NOW;
  const clock = () => now;
  const storeReport = storeReports({ hub, clock, receiptKey: await keys.key('receipt') });
  const take = async (row: AgentRow, report: SignedReport, source: string): Promise<void> => {
    if (source === 'stick') {
      const judged = judgeReport(report, row, FLEET, 'report');
      await storeReport({ report: judged, agent: row, received: { source, now } });
      return;
    }
    const { statement, events } = report;
    const body = { statement: JSON.parse(statement.toString()), events: events.toString() };
    await takeReport(body, row, { hub, clock, store: storeReport });
  };
  const limit = createLimit(AT_ONCE);
  let [seconds, events] = [0, 0];
  for (const version of [2, 3]) {
    now = version === 3 ? NOW : hoursAgo(240);
    // Signed in parts, so that a large fleet needs little memory; the agents' work is not part of the time.
    for (let start = 0; start < sites; start += 1000) {
      const reports: [AgentRow, SignedReport, string][] = [];
      for (let index = start; index < Math.min(start + 1000, sites); index += 1) {
        const { row, channel, simulated } = agents[index] as BenchAgent;
        const lags = version === 3 && index % 100 === 7;
        const wanted = packages.get(`${formatChannel(channel)} ${version}`) as Packages;
        const old = packages.get(`${formatChannel(channel)} 2`) as Packages;
        const happenings = [
          ...happeningsOf(
            channel,
            version,
            (name, at) => (lags && at % 10 === 0 ? old : wanted).get(name) as Digest,
            index % 3600,
          ),
          ...(lags ? [{ type: 'drift', assignment: names[0], time: hoursAgo(180) } as Happening] : []),
        ];
        events += happenings.length;
        reports.push([row, await simulated.report(happenings, now), index % 20 === 3 ? 'stick' : 'network']);
      }
      const begun = performance.now();
      await Promise.all(reports.map(([row, report, source]) => limit(() => take(row, report, source))));
      seconds += (performance.now() - begun) / 1000;
    }
  }
  await recordLinkStates(
    store,
    PROMOTION.environments.flatMap(({ name, promotedFrom: from }) =>
      from === undefined
        ? []
        : [
            {
              from,
              to: name,
              mode: 'manual',
              state: 'waiting',
              candidate: SHARED,
              waitsFor: null,
              unmet: [],
              why: null,
            },
          ],
    ),
    '2026-11-20T08:00:00Z',
  );
  return { events, reports: 2 * sites, seconds };
};
