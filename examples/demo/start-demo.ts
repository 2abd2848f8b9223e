import { mkdir, writeFile } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { pino } from 'pino';
import { type Channel, formatChannel } from '#bundles/names';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { openOrStartLayout } from '#bundles/formats/layout/layout';
import { formatError, toFleetError } from '#bundles/errors';
import { addDays, DAY_MS, HOUR_MS } from '#bundles/time';
import type { SigningKey } from '#bundles/trust/keys/key';
import { openAuthoring } from '../../scheduler/author/serve/open-authoring.ts';
import { appendChanges } from '../../scheduler/hub/changes/append-changes.ts';
import { approveFor } from '../../scheduler/hub/promote/decide/approve-for.ts';
import { promoteTo } from '../../scheduler/hub/promote/decide/promote-to.ts';
import { readPromotion } from '../../scheduler/hub/promote/facts/link.ts';
import { openChanges } from '../../scheduler/hub/promote/facts/read-changes.ts';
import { createServer } from '../../scheduler/hub/http/create-server.ts';
import { createMetrics } from '../../scheduler/hub/http/metrics/metrics.ts';
import { notePresence } from '../../scheduler/hub/http/note-presence.ts';
import type { Hub } from '../../scheduler/hub/hub.ts';
import { siteSigner } from '../../scheduler/hub/sites/site-signer.ts';
import { createLinkJudge } from '../../scheduler/hub/serve/judge-links.ts';
import { repeat } from '../../scheduler/hub/serve/repeat.ts';
import { createAlarmRound } from '../../scheduler/hub/serve/start-alarms.ts';
import { importReports } from '../../scheduler/hub/ingest/reports/import-reports.ts';
import { recordFreshness } from '../../scheduler/hub/questions/state/freshness-policies.ts';
import { readDesired } from '../../scheduler/hub/questions/state/read-desired.ts';
import { decideStep } from '../../scheduler/hub/promote/rollout/decide-step.ts';
import { openStore } from '../../scheduler/hub/store/open-store.ts';
import { sampleCompliance } from '../../scheduler/hub/upkeep/sample-compliance.ts';
import { parseAllowance } from '../../scheduler/hub/sites/tokens/allowance.ts';
import { createToken, type TokenRequest } from '../../scheduler/hub/sites/tokens/create-token.ts';
import { openKeyDirectory } from '../../scheduler/keys/key-directory.ts';
import { initDevRoot } from '../../scheduler/keys/root/init-dev-root.ts';
import { keyAt } from '../../scheduler/keys/root/key-at.ts';
import { build } from '../../scheduler/build/build.ts';
import { promotedTo, readAuditLog } from '../../scheduler/load/releases/audit-log.ts';
import { readCommit } from '../../scheduler/load/sources/read-commit.ts';
import { readConfiguration } from '../../scheduler/settings/configuration.ts';
import { FLEET } from './agents.ts';
import { APPLICATIONS, companyOf, IN_STAGES, SHOWN, STRICT } from './company.ts';
import { sendMedium, writeContents } from './media.ts';
import { deliver, deliverFirst, urlOf } from './teams.ts';
import { type DemoSite, enrolSites, type Medium, reportAgain, reportApplied } from './sites.ts';

export type Demo = AsyncDisposable & {
  readonly url: string;
  readonly reader: string;
  /** Token of a person who may promote, reject, pause and resume, and decide about rollouts. */
  readonly decider: string;
};

export type DemoOptions = {
  /** Sites of prod. */
  readonly sites: number;
  readonly folder: string;
  /** The built page. */
  readonly page: string;
  readonly port: number;
  readonly now: Date;
};

/** A person who may approve promotions to prod, at a terminal. */
export const approverPlaces = (folder: string) => ({
  config: join(folder, 'fleet-scheduler.yaml'),
  key: join(folder, 'carla.key'),
});

/** How often the running demo looks for decisions that a terminal made. */
const FOLLOW_MS = 5000;

const DAYS = 90;
/** The demo's hub counts its agents once a day, and more often in the last days. */
const RECENT_DAYS = 8;
const RECENT_MS = 4 * HOUR_MS;

/** A hub with 90 days of builds, promotions and reports. Until it listens, its clock is the time of what happens. */
export const startDemo = async ({ sites, folder, page, port, now }: DemoOptions): Promise<Demo> => {
  let clock = (): Date => addDays(now, -DAYS);
  let wake = (): void => {};
  const keysFolder = join(folder, 'keys');
  const layout = join(folder, 'releases');
  const { signal } = new AbortController();
  const env = { PATH: process.env['PATH'] };
  const platform = { platform: join(folder, 'platform'), maps: [], cacheDirectory: join(folder, 'cache') };
  const places = approverPlaces(folder);
  await deliverFirst(folder, clock());
  await write(
    folder,
    companyOf((name) => urlOf(folder, name)),
  );
  const lars = await keyAt(join(folder, 'lars.key'), "lars's key");
  const carla = await keyAt(places.key, "carla's key");
  await initDevRoot(keysFolder, FLEET, clock(), [lars.public, carla.public]);
  const readKeys = () => openKeyDirectory(keysFolder);
  const readChain = () => readPromotion({ ...platform, env, signal });

  await using starting = new AsyncDisposableStack();
  const store = starting.use(await openStore(join(folder, 'hub.db'), FLEET));
  const hub: Hub = { keys: await readKeys(), store, layout, [Symbol.asyncDispose]: async () => {} };
  const silent = pino({ level: 'silent' });
  const configuration = await readConfiguration({ config: places.config }, folder);
  const review = {
    approvals: { required: 1, from: [], notAuthor: true },
    roles: { network: { required: 0, from: [], notAuthor: true } },
  };
  const server = await createServer({
    context: {
      hub,
      authority: await hub.keys.authority(),
      signer: await siteSigner(hub),
      receiptKey: await hub.keys.key('receipt'),
      clock: () => clock(),
      metrics: createMetrics(store.db, () => clock()),
      presence: notePresence(store, () => clock(), silent),
      onSiteChange: () => {},
      onReport: () => {},
    },
    log: silent,
    page,
    enrolmentsPerMinute: 1_000_000,
    authoring: openAuthoring({ configuration, env, cwd: process.cwd(), clock: () => clock(), signal }),
    values: { review, readKeys },
    decisions: {
      readKeys,
      readPromotion: readChain,
      openChanges: openChanges(configuration, { env, cwd: process.cwd() }),
      readCommit: (source) => readCommit(source, { cacheDirectory: platform.cacheDirectory, env, signal }),
      wake: () => wake(),
      signal,
    },
  });
  starting.defer(() => server.close());
  const judge = createLinkJudge({
    askChecks: async () => {},
    configuration,
    store,
    clock: () => clock(),
    log: silent,
    readChain,
    onPromoted: () => {},
  });

  const token = async (order: TokenRequest): Promise<string> =>
    (await createToken(store, order, { note: 'demo', expires: addDays(now, 7), now: clock() })).token;
  const buildIn = async (environment: string): Promise<void> => {
    const keys = await readKeys();
    const built = await build({
      ...platform,
      env,
      layout,
      keys,
      environments: [environment],
      now: clock(),
      signal,
    });
    const held = built.channels.flatMap((channel) => channel.held);
    if (held.length > 0) throw new Error(`the demo's platform does not build: ${JSON.stringify(held)}`);
  };
  const readGates = async () => ({
    hub: { keys: await readKeys(), layout, store },
    promotion: await readChain(),
  });
  const promote = async (environment: string, reason: string): Promise<void> => {
    const request = { environment, person: 'mara', now: clock(), signal, repeats: undefined };
    await promoteTo(await readGates(), { ...request, candidate: undefined, reason });
    await buildIn(environment);
  };
  const approve = async (person: string, key: SigningKey, reason: string): Promise<void> => {
    const request = { environment: 'prod', person, now: clock(), signal, reason };
    await approveFor(await readGates(), { ...request, candidate: undefined, stage: undefined }, key);
  };
  /** Candidates by their environment. */
  const built = new Map<string, string>();
  /** Builds the environments to which a visitor promoted. */
  const buildPromoted = async (): Promise<void> => {
    const log = await readAuditLog(await openOrStartLayout(layout), hub.keys.roots);
    for (const environment of ['qa', 'prod']) {
      const candidate = promotedTo(log, environment)?.candidate;
      if (candidate === undefined || candidate === built.get(environment)) continue;
      if (built.has(environment)) await buildIn(environment);
      built.set(environment, candidate);
    }
  };
  const wanted = async (channels: readonly Channel[]) => {
    const desired = await readDesired(layout, channels, hub.keys.root);
    return (channel: Channel) => desired.get(formatChannel(channel));
  };

  /** Sets the clock forward. On the way the hub counts its agents, as it does when it runs. */
  const passTo = async (next: Date): Promise<void> => {
    await appendChanges({ store, keys: await readKeys(), layout }, { command: 'demo', now: clock() });
    let at = clock();
    while (at < next) {
      await sampleCompliance(hub, at);
      at = new Date(at.getTime() + (at < addDays(now, -RECENT_DAYS) ? DAY_MS : RECENT_MS));
    }
    clock = () => next;
  };

  const setValues = async (person: string, change: object): Promise<void> => {
    const order = { scope: 'decide', person, allowances: [parseAllowance('values:*')] } as const;
    const headers = { authorization: `Bearer ${await token(order)}` };
    const url = '/v1/values/changes';
    const answer = await server.inject({ method: 'POST', url, headers, payload: change });
    if (answer.statusCode !== 200) throw new Error(`values of the demo: ${answer.body}`);
  };
  const office = { server, token, now: () => clock() };
  await buildIn('dev');
  await promote('qa', 'first version');
  await promote('prod', 'first version');
  const fleet = await enrolSites(office, sites);
  const namesOf = (sites: readonly DemoSite[]) => sites.map(({ agent }) => agent.site);
  /** A medium visits the sites with the newest releases, and a day later its reports reach the hub at its current time. */
  const carry = async (
    visited: readonly DemoSite[],
    visit: (medium: Medium, desiredOf: Awaited<ReturnType<typeof wanted>>) => Promise<void>,
  ): Promise<void> => {
    const path = join(folder, 'media', String(clock().getTime()));
    const channels = [...new Set(visited.map(({ agent }) => agent.channel))];
    const desiredOf = await wanted(channels);
    const releases = channels.flatMap((channel) => {
      const desired = desiredOf(channel);
      return desired?.kind === 'release' ? [{ ...channel, version: desired.version }] : [];
    });
    await writeContents(path, { releases, sites: namesOf(visited), at: addDays(clock(), -1) });
    await visit({ path, at: clock() }, desiredOf);
    await using medium = await openMedium(path);
    await importReports(hub, medium, clock());
  };
  const applied = (isAsked: (site: DemoSite) => boolean = () => true): Promise<void> =>
    carry(fleet.sites.filter(isAsked), (medium, desiredOf) =>
      reportApplied(fleet, medium, desiredOf, isAsked),
    );
  const alarmRound = createAlarmRound({
    configuration,
    env,
    store,
    clock: () => clock(),
    random: Math.random,
    log: silent,
  });
  /** Raises and ends alarms by the state of the hub at its current time. */
  const raiseAlarms = async (): Promise<void> => {
    await recordFreshness(store, (await readChain()).freshnessPolicies);
    await alarmRound(signal);
  };
  /** Does so in the past. The freshness policies are removed again: agents of the demo seldom report, and the curves of the past would show them as late. */
  const raisePastAlarms = async (): Promise<void> => {
    await raiseAlarms();
    await recordFreshness(store, []);
  };
  await passTo(addDays(now, 1 - DAYS));
  await applied();

  await passTo(addDays(now, -40));
  for (const name of APPLICATIONS) await deliver(folder, name, 2, clock());
  await buildIn('dev');
  await promote('qa', 'labels in three languages');
  await promote('prod', 'plants asked for it');
  await passTo(addDays(now, -39));
  await applied();

  await passTo(addDays(now, -6));
  await deliver(folder, 'scale-reader', 3, clock());
  await write(folder, IN_STAGES);
  await buildIn('dev');
  await promote('qa', 'scales of the new kind');
  await promote('prod', 'shops get new scales');
  const send = async (clusterType: 'press' | 'till', sites: number): Promise<void> => {
    const channel = { environment: 'prod', clusterType };
    const desired = (await wanted([channel]))(channel);
    const places = fleet.sites.filter(
      ({ environment, agent }) => environment === 'prod' && agent.channel.clusterType === clusterType,
    );
    await sendMedium(store, join(folder, 'media', `to-${clusterType}`), {
      releases: [{ ...channel, version: desired?.kind === 'release' ? desired.version : 1 }],
      sites: namesOf(places.slice(0, sites)),
      at: clock(),
    });
  };
  await send('till', 9);
  await passTo(addDays(now, -5));
  await applied(isTill);
  const staged = { environment: 'prod', clusterType: 'till' };
  const advanced = { person: 'mara', reason: 'the pilot shops are content', now: clock() };
  await decideStep(await readKeys(), layout, { channel: staged, decision: 'advance', ...advanced });
  // A third of the shops a day, and the last third not yet.
  for (const day of [-4, -3]) {
    await passTo(addDays(now, day));
    await raisePastAlarms();
    await applied((site) => isTill(site) && (site.index + day) % 3 === 0);
  }

  await passTo(addDays(now, -2));
  await raisePastAlarms();
  await deliver(folder, 'oven-control', 3, clock());
  await write(folder, STRICT);
  await buildIn('dev');
  await promote('qa', 'ovens save energy');
  await send('press', 4);
  await setValues('ines', {
    site: 'plant-005',
    set: { gateway: '10.5.0.1' },
    reason: 'the site has a gateway of its own',
  });
  await setValues('jon', { site: 'plant-005', set: { maxCelsius: 250 }, reason: 'rye bread since Monday' });
  await setValues('jon', { site: 'shop-002', set: { maxKilograms: 30 }, reason: 'a scale for crates' });
  await passTo(addDays(now, -1));
  await deliver(folder, 'label-printer', 3, clock());
  await write(folder, SHOWN);
  await buildIn('dev');
  await approve('lars', lars, 'the ovens of qa use a tenth less');
  await applied(({ environment }) => environment !== 'prod');
  const promotion = await readChain();
  judge.follow(promotion);
  await judge.round(signal);
  await passTo(now);
  await carry(fleet.sites, (medium) => reportAgain(fleet, medium));
  await judge.round(signal);
  await raiseAlarms();
  await sampleCompliance(hub, now);

  // From here on the clock is the real one.
  const offset = now.getTime() - Date.now();
  clock = () => new Date(Date.now() + offset);
  await buildPromoted();
  const following = starting.use(
    repeat(
      async () => {
        await buildPromoted().catch(report);
        await judge.round(signal);
      },
      FOLLOW_MS,
      report,
    ),
  );
  wake = following.wake;
  await server.listen({ host: '127.0.0.1', port });
  const verbs = ['approve', 'promote', 'reject', 'pause', 'resume', 'rollback', 'rollout'] as const;
  const allowances = [
    ...verbs.map((verb) => ({ verb, environment: '*' })),
    ...['read:*', 'values:*', 'author:*', 'alarms:*'].map(parseAllowance),
  ];
  const demo = {
    url: `http://127.0.0.1:${(server.server.address() as AddressInfo).port}`,
    reader: await token({ scope: 'reader' }),
    decider: await token({ scope: 'decide', person: 'visitor', allowances }),
  };
  const running = starting.move();
  return { ...demo, [Symbol.asyncDispose]: () => running.disposeAsync() };
};

/** A round that failed, as one does while another program holds the layout, is tried again by the next. */
const report = (error: unknown): void =>
  console.error(formatError(toFleetError(error, 'building what was promoted')));

const isTill = ({ agent }: DemoSite): boolean => agent.channel.clusterType === 'till';

const write = async (folder: string, files: Readonly<Record<string, string>>): Promise<void> => {
  for (const [path, text] of Object.entries(files)) {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  }
};
