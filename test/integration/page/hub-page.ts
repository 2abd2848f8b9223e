import type { AddressInfo } from 'node:net';
import { join as joinPath } from 'node:path';
import type { Digest } from '#bundles/digest';
import { addDays, formatTime, HOUR_MS, type Timestamp } from '#bundles/time';
import { createAlarm } from '../../../scheduler/hub/alarms/alarm.ts';
import { keepAlarms } from '../../../scheduler/hub/alarms/keep-alarms.ts';
import { builtPage } from '../../harness/run/built-programs.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { readBundle } from '../../../bundles/formats/bundle/read-bundle.ts';
import { openLayout } from '../../../bundles/formats/layout/layout.ts';
import { recordFreshness } from '../../../scheduler/hub/questions/state/freshness-policies.ts';
import { recordLinkStates } from '../../../scheduler/hub/questions/state/link-states.ts';
import { sampleCompliance } from '../../../scheduler/hub/upkeep/sample-compliance.ts';
import { hand, join, type TestServer, testServer } from '../../scheduler/hub/serve/test-server.ts';
import { chain, type Happening, HOSTS, NOW, reportOf, testAgent } from '../../scheduler/hub/test-hub.ts';

/** A listening hub with the built page and some sites that reported. */
export type HubPage = AsyncDisposable & { readonly made: TestServer; readonly url: string };

const OLD: Digest = `sha256:${'a'.repeat(64)}`;

export const startHubPage = async (): Promise<HubPage> => {
  await using starting = new AsyncDisposableStack();
  const folder = starting.use(await temporaryDirectory('hub-page'));
  const page = await builtPage(joinPath(folder.path, 'page'));
  const made = starting.use(await testServer({ page }));
  await fill(made);
  await made.server.listen({ host: '127.0.0.1', port: 0 });
  const { port } = made.server.server.address() as AddressInfo;
  const running = starting.move();
  return { made, url: `http://127.0.0.1:${port}`, [Symbol.asyncDispose]: () => running.disposeAsync() };
};

/** Sites with what can be wrong at one, and more sites than a page of the list holds. */
const fill = async (made: TestServer): Promise<void> => {
  const wanted = await release(made, 2);
  const applied = (version: number, pack = wanted): Happening => ({
    type: 'package',
    assignment: 'oven',
    package: pack,
    release: { ...HOSTS, version },
    outcome: 'configured',
  });
  const stories: Readonly<Record<string, readonly Happening[]>> = {
    'alpha-behind': [applied(1, OLD)],
    'alpha-drifted': [
      applied(2),
      {
        type: 'drift',
        assignment: 'oven',
        code: 'DRIFT',
        message: HOSTILE,
        detail: { drift: [{ key: HOSTILE, what: 'content', message: `oven.conf was edited${TERMINAL}` }] },
      },
    ],
    'alpha-held': [
      applied(2),
      { type: 'held', message: HOSTILE, detail: { by: HOSTILE, reason: `${HOSTILE}${TERMINAL}` } },
    ],
    'alpha-failed': [
      applied(2),
      {
        type: 'check',
        assignment: 'oven',
        outcome: 'failed',
        code: 'CHECK_FAILED',
        message: HOSTILE,
      },
    ],
  };
  const plain = Array.from({ length: 55 }, (_, index) => `plant-${String(index + 1).padStart(2, '0')}`);
  for (const site of [...Object.keys(stories), ...plain]) {
    const agent = testAgent(`${site}/press-1`);
    const certificate = await join(made, agent);
    const lines = chain(agent, stories[site] ?? [applied(2)]);
    const answer = await hand(made, await reportOf(agent, lines), certificate);
    if (answer.status !== 200) throw new Error(answer.text);
  }
  for (const name of ['alpha-many/press-1', 'alpha-many/press-2']) {
    const agent = testAgent(name);
    const certificate = await join(made, agent);
    const lines = chain(agent, [
      applied(2),
      ...Array.from({ length: 119 }, (_, index) => ({
        ...applied(2),
        assignment: `spare-${String(index + 1).padStart(3, '0')}`,
      })),
    ]);
    const answer = await hand(made, await reportOf(agent, lines), certificate);
    if (answer.status !== 200) throw new Error(answer.text);
  }
  await join(made, testAgent('alpha-silent/press-1'));
  const { store } = made.hub;
  for (const hours of [2, 1]) await sampleCompliance(made.hub, new Date(NOW.getTime() - hours * HOUR_MS));
  const at = { file: 'promotion/hosts.yaml' };
  const limits = { lateSeconds: 3600, staleSeconds: 30 * 86_400, visitsSeconds: undefined };
  await recordFreshness(store, [
    { name: 'hosts', environment: HOSTS.environment, clusterTypes: [], ...limits, at },
  ]);
  const began = formatTime(addDays(NOW, -1));
  const failed = { site: 'alpha-failed', agent: 'alpha-failed/press-1', ...HOSTS, assignment: 'oven' };
  const behind = { site: 'alpha-silent', agent: 'alpha-silent/press-1', ...HOSTS };
  const alarm = createAlarm('PACKAGE_FAILED', 'critical', failed, began, `oven failed: ${HOSTILE}`);
  const late = createAlarm('AGENT_LATE', 'warning', behind, began, 'alpha-silent/press-1 is late');
  await keepAlarms(store, [alarm, late], { now: NOW });
  await store.transact(async (tx) => {
    const sent = { opened_at: formatTime(NOW), severity: 'critical', sent_at: formatTime(NOW) };
    await tx
      .insertInto('alarm_sent')
      .values({ receiver: 'mail', alarm: alarm.id, ...sent })
      .execute();
    const failing = {
      name: 'chat',
      failing_since: began,
      failures: 3,
      next_at: formatTime(NOW),
      message: '500',
    };
    await tx.insertInto('alarm_receiver').values(failing).execute();
    await tx.insertInto('site_layers').values(lackingSite(began)).execute();
  });
  const link = { from: 'qa', to: 'prod', mode: 'manual', state: 'waiting', candidate: OLD };
  const why = { waitsFor: 'soak', unmet: ['soak'], why: '12 of 24 h have passed' };
  await recordLinkStates(store, [{ ...link, ...why }], formatTime(addDays(NOW, -1)));
};

/** A site that lacks a value, and is enrolled otherwise than declared. */
const lackingSite = (since: Timestamp) => ({
  site: 'alpha-behind',
  declared: null,
  since,
  written: 1,
  held: JSON.stringify([
    {
      code: 'SITE_VALUES',
      message: `alpha-behind/press-1 has no value ${HOSTILE}`,
      hint: 'Set it with: fleet-scheduler sites set alpha-behind line=7',
      holds: 'package',
    },
    {
      code: 'SITE_DIFFERS',
      message: 'agent alpha-behind/press-1 has region=west',
      hint: 'Change one of the two',
      at: { file: 'base/sites.yaml', line: 3, column: 1 },
      holds: 'nothing',
    },
  ]),
});

/** A message as a hostile agent writes it: the page has to show it and nothing else. */
export const HOSTILE = "<img src=x onerror=\"document.title='run'\"><b>bold</b>'; drop table agent; --";

/** Clears a terminal and turns the direction of text; the hub answers with escapes in their place. */
const TERMINAL = '\u001b[2J\u202e';

const release = async ({ hub }: TestServer, version: number): Promise<Digest> => {
  const labels = { 'app.kubernetes.io/version': `${version} ${HOSTILE}` };
  const settings = { apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: 'oven', labels } };
  const packages = { oven: { 'package.json': 'oven', 'settings.json': JSON.stringify(settings) } };
  const [bundle] = await hub.layoutWriter.release({
    channel: HOSTS,
    version,
    bundles: [{ kind: 'host', packages }],
  });
  if (bundle === undefined) throw new Error('no bundle was released');
  const { config } = await readBundle((await openLayout(hub.layout)).blobs, bundle);
  const [assignment] = config.assignments;
  if (assignment === undefined) throw new Error('the bundle is empty');
  return assignment.package;
};
