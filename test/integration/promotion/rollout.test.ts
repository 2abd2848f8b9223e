import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { addDays, formatTime } from '#bundles/time';
import type { RolloutVerdict } from '../../../scheduler/hub/promote/rollout/judge-rollout.ts';
import { type KeepOptions, createKeepCurrent } from '../../../scheduler/hub/serve/keep-current.ts';
import { openStore } from '../../../scheduler/hub/store/open-store.ts';
import { readConfiguration } from '../../../scheduler/settings/configuration.ts';
import { acceptRequests } from '../../harness/fleets/accept-requests.ts';
import { runAgent } from '../../harness/run/run-agent.ts';
import { type Outcome, succeed } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { type Office, openOffice } from '../../e2e/office.ts';

const CHANNEL = 'prod/factory-host';
const LABEL = 'apps/label-printer/host/label.zpl';

let folder: Awaited<ReturnType<typeof temporaryDirectory>>;
let office: Office;
beforeAll(async () => {
  folder = await temporaryDirectory('rollout');
  office = await openOffice(folder.path);
  await withoutUnits();
});
afterAll(() => folder[Symbol.asyncDispose]());

const addPolicy = async (): Promise<void> => {
  await mkdir(join(folder.path, 'platform', 'promotion'));
  await writeFile(
    join(folder.path, 'platform', 'promotion', 'prod-rings.yaml'),
    `apiVersion: fleet-ferry/v1alpha1
kind: RolloutPolicy
metadata: { name: prod-rings }
spec:
  environment: prod
  stages:
    - { name: pilot, selector: { matchLabels: { ring: pilot } }, soak: 1h, maxFailures: 0 }
    - { name: half, selector: { matchLabels: { ring: early } }, maxFailures: 0 }
    - { name: all, percent: 100, maxFailures: 0 }
`,
  );
};

/** A folder has no init, so nothing could say that a unit is healthy: files only. The printer's check of its label stays. */
const withoutUnits = async (): Promise<void> => {
  const check = `  checks:
    - name: label-is-complete
      type: exec
      argv: [/bin/sh, -c, 'grep -q "^\\^XZ" "$FLEET_ROOT/etc/label-printer/label.zpl"']
`;
  const bare = (text: string, checks: string): string =>
    text.replace(/^ {2}units:[^]*?(?=^ {2}siteInputs:|^ {2}#|(?![^]))/m, checks);
  await office.edit('apps/label-printer/host/package.yaml', (text) => bare(text, check));
  await office.edit('apps/scale-reader/host/package.yaml', (text) =>
    bare(text, check.replace(/grep[^']*/, 'test -d "$FLEET_ROOT/etc"')),
  );
  await office.edit('platform/base/templates/workload-slice.yaml', (text) =>
    text.slice(0, text.indexOf('        units:')),
  );
};

type Site = {
  readonly name: string;
  readonly agent: (...words: readonly string[]) => Promise<Outcome>;
  readonly medium: string;
  readonly label: () => Promise<string>;
};

/** An agent that applies files below a folder, enrolled with the label of its ring. */
const enrol = async (name: string, ring: string): Promise<Site> => {
  const at = (...parts: readonly string[]): string => join(folder.path, 'sites', name, ...parts);
  for (const part of ['host', 'medium']) await mkdir(at(part), { recursive: true });
  await writeFile(at('agent.yaml'), `state: ${at('state')}\nroot: ${at('host')}\nservices: none\n`);
  const agent: Site['agent'] = (...words) => runAgent(folder.path, [...words, '--config', at('agent.yaml')]);
  const medium = at('medium');
  const words = ['--fleet', 'halden', '--site', name, '--name', 'press-1', '--channel', CHANNEL];
  const given = ['--label', `ring=${ring}`, '--root-sha256', office.rootSha256];
  succeed(await agent('enroll', medium, ...words, ...given));
  succeed(await office.scheduler('sites', 'enroll', medium, ...(await acceptRequests(medium))));
  succeed(await office.scheduler('sites', 'set', name, 'lineNumber=7'));
  const label = (): Promise<string> => readFile(at('host', 'etc', 'label-printer', 'label.zpl'), 'utf8');
  return { name, agent, medium, label };
};

/** The newest release goes to the sites, and their reports come home. @returns the exit code of each import */
const roundTrip = async (sites: readonly Site[]): Promise<readonly number[]> => {
  const codes = [];
  for (const { name, medium, agent } of sites) {
    await office.fill(medium, name);
    codes.push((await agent('import', medium)).code);
    succeed(await agent('reports', 'export', medium));
    succeed(await office.scheduler('reports', 'import', medium));
  }
  return codes;
};

/** Of each site: the release that it accepted, the release that it follows, and what its printer prints. */
const whereTheyAre = (sites: readonly Site[]) =>
  Promise.all(
    sites.map(async ({ agent, label }) => {
      const { release } = JSON.parse((await agent('status', '--json')).stdout);
      return [release.version, release.follows, /Halden Foods(.*)\^FS/.exec(await label())?.[1]];
    }),
  );

/** One round of the hub's loop, at a time of its own. @returns what it logged */
const keepCurrent = async (now: Date): Promise<readonly object[]> => {
  const configuration = await readConfiguration({}, folder.path);
  const { db } = configuration;
  if (db === undefined) throw new Error('no database');
  await using store = await openStore(db, 'halden');
  const said: object[] = [];
  const say = (fields: object, what: string): void => void said.push({ what, ...fields });
  const log = { info: say, warn: say, error: say } as unknown as KeepOptions['log'];
  await createKeepCurrent({ configuration, store, clock: () => now, log, publish: undefined })(
    new AbortController().signal,
  );
  return said;
};

type Status = { readonly rollouts: readonly ({ channel: string; release: number } & RolloutVerdict)[] };

const status = async (...words: readonly string[]) => {
  const told = succeed(await office.scheduler('rollout', 'status', '--json', ...words));
  const { rollouts } = JSON.parse(told.stdout) as Status;
  return rollouts.map(({ channel, release, stages, next }) => ({
    channel,
    release,
    stages: stages.map(({ name, state, agents, complies, failed }) => [
      name,
      state,
      agents,
      complies,
      failed,
    ]),
    holding: stages.filter(({ state }) => state === 'running').flatMap(({ holding }) => holding),
    next: next.kind,
  }));
};

const decide = async (decision: string): Promise<unknown> => {
  const words = ['--channel', CHANNEL, '--person', 'ann', '--reason', 'because', '--json'];
  const { stage, release } = JSON.parse(
    succeed(await office.scheduler('rollout', decision, ...words)).stdout,
  );
  return [stage, release];
};

const print = (text: string): Promise<void> =>
  office.edit(LABEL, (label) => label.replace(/Halden Foods.*(?=\^FS)/, `Halden Foods${text}`));

test('a release reaches the rings stage by stage by the reports of their agents, and a failing pilot stops it', async () => {
  await office.build();
  const sites = [
    await enrol('plant-7', 'pilot'),
    await enrol('plant-8', 'early'),
    await enrol('plant-9', 'late'),
  ] as const;
  expect(await roundTrip(sites)).toEqual([0, 0, 0]);
  expect(await whereTheyAre(sites)).toEqual([
    [1, 1, ''],
    [1, 1, ''],
    [1, 1, ''],
  ]);
  const none = await office.scheduler('rollout', 'advance', '--channel', CHANNEL, '--reason', 'because');
  expect([none.code, none.stderr]).toEqual([4, expect.stringContaining('ROLLOUT_MISSING')]);
  expect(await status()).toEqual([]);

  // Release 2 reaches the pilot, and nobody else.
  await addPolicy();
  await print(' A/S');
  await office.build();
  expect(await status()).toEqual([
    {
      channel: CHANNEL,
      release: 2,
      stages: [
        ['pilot', 'running', 1, 0, 0],
        ['half', 'waiting', 2, 0, 0],
        ['all', 'waiting', 3, 0, 0],
      ],
      holding: [expect.stringMatching(/^plant-7\/press-1: .* behind$/)],
      next: 'wait',
    },
  ]);
  const shown = succeed(await office.scheduler('rollout', 'status')).stdout;
  expect(shown).toMatch(/^prod\/factory-host release 2, plan of prod-rings$/m);
  expect(shown).toMatch(/^ {2}pilot +running +0 of 1 comply, 0 failed/m);
  expect(shown).toMatch(/^ {4}waits for plant-7\/press-1: /m);
  const simulated = succeed(await office.scheduler('rollout', 'simulate', '--channel', CHANNEL)).stdout;
  expect(simulated.replaceAll(/^\S+Z +| {2,}/gm, ' ').split('\n')).toEqual([
    ' pilot 1 of 3 agents',
    ' plant-7/press-1',
    ' half 2 of 3 agents',
    ' plant-8/press-1',
    ' all 3 of 3 agents',
    ' plant-9/press-1',
    expect.stringMatching(/^complete: .*Z$/),
    '',
  ]);
  expect(await keepCurrent(new Date())).toEqual([]);
  expect(await roundTrip(sites)).toEqual([0, 0, 0]);
  expect(await whereTheyAre(sites)).toEqual([
    [2, 2, ' A/S'],
    [2, 1, ''],
    [2, 1, ''],
  ]);

  // The pilot complies: the soak is left, and a person does not wait for it.
  const soaking = (await status())[0];
  expect([soaking?.stages[0], soaking?.next]).toEqual([['pilot', 'soaking', 1, 1, 0], 'wait']);
  expect((await status('--now', formatTime(addDays(new Date(), 1))))[0]?.next).toBe('advance');
  expect(await keepCurrent(new Date())).toEqual([]);
  expect(await decide('advance')).toEqual(['half', 3]);
  const half = (await status())[0];
  expect(half?.stages.map(([name, state]) => [name, state])).toEqual([
    ['pilot', 'done'],
    ['half', 'running'],
    ['all', 'waiting'],
  ]);
  expect(half?.holding).toEqual([expect.stringMatching(/^plant-8\/press-1: .* behind$/)]);
  expect(await keepCurrent(new Date())).toEqual([]);

  // The loop begins the last stage after the report of the second ring, and completes it after that of the third.
  expect(await roundTrip(sites)).toEqual([0, 0, 0]);
  expect(await whereTheyAre(sites)).toEqual([
    [3, 3, ' A/S'],
    [3, 3, ' A/S'],
    [3, 1, ''],
  ]);
  expect(await keepCurrent(new Date())).toEqual([
    expect.objectContaining({ channel: CHANNEL, decision: { kind: 'advance', stage: 'all' }, widened: 4 }),
  ]);
  expect(await roundTrip(sites)).toEqual([0, 0, 0]);
  expect(await whereTheyAre(sites)).toEqual([
    [4, 4, ' A/S'],
    [4, 4, ' A/S'],
    [4, 4, ' A/S'],
  ]);
  expect(await keepCurrent(new Date())).toEqual([
    { what: 'rollout', channel: CHANNEL, decision: { kind: 'complete' } },
  ]);
  expect((await status())[0]).toMatchObject({
    stages: [
      ['pilot', 'done', 1, 1, 0],
      ['half', 'done', 2, 2, 0],
      ['all', 'done', 3, 3, 0],
    ],
    next: 'none',
  });

  // The pilot refuses the next label and keeps the one before; the loop stops the stage.
  await print(' A/S Bergen');
  await office.edit(LABEL, (label) => label.replace('^XZ', ''));
  await office.build();
  expect(await roundTrip(sites)).toEqual([7, 0, 0]);
  const before = [
    [4, ' A/S'],
    [4, ' A/S'],
  ];
  const others = async () => (await whereTheyAre(sites)).slice(1).map(([, ...rest]) => rest);
  expect(await others()).toEqual(before);
  expect((await status())[0]).toMatchObject({
    release: 5,
    stages: [
      ['pilot', 'failed', 1, 0, 1],
      ['half', 'waiting', 2, 0, 1],
      ['all', 'waiting', 3, 0, 1],
    ],
    next: 'pause',
  });
  expect(await keepCurrent(new Date())).toEqual([
    {
      what: 'rollout',
      channel: CHANNEL,
      decision: {
        kind: 'pause',
        stage: 'pilot',
        why: '1 of 1 agents of stage pilot failed: plant-7/press-1',
      },
    },
  ]);
  expect(await keepCurrent(addDays(new Date(), 1))).toEqual([]);
  expect((await status())[0]).toMatchObject({
    release: 5,
    next: 'none',
    stages: [
      ['pilot', 'failed', 1, 0, 1],
      ['half', 'waiting', 2, 0, 1],
      ['all', 'waiting', 3, 0, 1],
    ],
  });

  // Taken back, everybody has the content from before, under the next number.
  expect(await decide('take-back')).toEqual([null, 6]);
  expect(await roundTrip(sites)).toEqual([0, 0, 0]);
  expect(await whereTheyAre(sites)).toEqual([
    [6, 6, ' A/S'],
    [6, 6, ' A/S'],
    [6, 6, ' A/S'],
  ]);
  expect(await status()).toEqual([]);
  const again = await office.scheduler('build', '--images', 'images');
  expect([again.code, again.stdout]).toEqual([
    0,
    expect.stringMatching(
      /^prod\/factory-host +no release: the rollout of this bundle was taken back: because/m,
    ),
  ]);
  expect(await keepCurrent(new Date())).toEqual([]);
  expect(await roundTrip(sites)).toEqual([0, 0, 0]);
  expect(await whereTheyAre(sites)).toEqual([
    [6, 6, ' A/S'],
    [6, 6, ' A/S'],
    [6, 6, ' A/S'],
  ]);
});
