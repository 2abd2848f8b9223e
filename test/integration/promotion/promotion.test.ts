import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Verdict } from '../../../scheduler/hub/promote/judge/verdict.ts';
import { type Outcome, succeed } from '../../harness/run/run-command.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { type Office, openOffice } from '../../e2e/office.ts';
import { carryHome, carryOut, enroll, startSite, withoutUnits } from '../agent/folder-site.ts';

let folder: Awaited<ReturnType<typeof temporaryDirectory>>;
let office: Office;
beforeAll(async () => {
  folder = await temporaryDirectory('promotion');
  office = await openOffice(folder.path);
  await office.edit('platform/fleet.yaml', (text) =>
    text
      .replace('- name: qa', '- name: qa\n      promotedFrom: dev')
      .replace('- name: prod', '- name: prod\n      promotedFrom: qa'),
  );
  await withoutUnits(office);
  await mkdir(join(folder.path, 'platform', 'promotion'));
  await writeFile(
    join(folder.path, 'platform', 'promotion', 'qa-to-prod.yaml'),
    `apiVersion: fleet-ferry/v1alpha1
kind: PromotionPolicy
metadata: { name: qa-to-prod }
spec:
  from: qa
  to: prod
  compliance: { percent: 100, atLeast: 1 }
  freshness: 12h
`,
  );
});
afterAll(() => folder[Symbol.asyncDispose]());

type Explained = Pick<Verdict, 'state' | 'shared' | 'conditions'>;

const explain = async (to: string): Promise<Explained> =>
  JSON.parse(succeed(await office.scheduler('promote', to, '--explain', '--json')).stdout);

const build = (): Promise<Outcome> => office.scheduler('build', '--images', 'images');
const buildAll = async (): Promise<Outcome> => succeed(await build());

const releases = async (): Promise<string> => readFile(join(folder.path, 'releases', 'index.json'), 'utf8');

const digestOf = (text: string): string => createHash('sha256').update(text).digest('hex');

/** A second state of what environments share. */
const changes = [
  ['platform/base/configs/everywhere.yaml', '# another state\n'],
  ['apps/label-printer/host/label.zpl', '\n'],
] as const;

test('a change reaches prod only after its promotion, by the reports of sites without network', async () => {
  await buildAll();
  expect(await releases()).not.toContain('"qa/');
  const early = await office.scheduler('promote', 'prod');
  expect([early.code, early.stderr]).toEqual([5, expect.stringContaining('RELEASE_MISSING')]);

  // A link without a policy is promoted by hand.
  succeed(await office.scheduler('promote', 'qa', '--person', 'ann', '--reason', 'first', '--build'));
  expect(await releases()).toContain('qa/factory-host:release');
  expect(await releases()).not.toContain('prod/factory-host:release');

  // The site runs the candidate, and nobody at the office knows.
  const line = await startSite(office, 'plant-q');
  await enroll(office, line, 'qa/factory-host');
  await carryOut(office, line);
  const closed = await office.scheduler('promote', 'prod', '--person', 'ann');
  expect([closed.code, closed.stderr]).toEqual([8, expect.stringContaining('GATE_CLOSED')]);
  expect(closed.stderr).toContain('It can open after: reports');
  await carryHome(office, line);
  const open = await explain('prod');
  expect([open.conditions.filter(({ met }) => !met), open.state]).toEqual([[], 'ready']);

  // A pause and a rejection outrank the gate.
  succeed(await office.scheduler('pause', 'prod', '--person', 'eve', '--reason', 'stock taking'));
  const paused = await office.scheduler('promote', 'prod', '--person', 'ann');
  expect([paused.code, paused.stderr]).toEqual([8, expect.stringContaining('paused by eve')]);
  succeed(await office.scheduler('resume', 'prod', '--person', 'eve', '--reason', 'done'));
  succeed(await office.scheduler('promote', 'prod', '--person', 'ann'));
  expect((await explain('prod')).state).toBe('promoted');
  await buildAll();
  expect(await releases()).toContain('prod/factory-host:release');

  // prod complies once both sites have said so.
  const sites = [await startSite(office, 'plant-7'), await startSite(office, 'plant-8')] as const;
  for (const site of sites) {
    await enroll(office, site, 'prod/factory-host');
    await carryOut(office, site);
  }
  const wait = (): Promise<Outcome> => office.scheduler('wait', 'prod', '--timeout', '1s', '--json');
  await carryHome(office, sites[0]);
  const waiting = await wait();
  expect([waiting.code, JSON.parse(waiting.stdout)]).toEqual([
    8,
    expect.objectContaining({
      error: expect.objectContaining({ code: 'WAIT_TIMED_OUT' }),
      conditions: expect.arrayContaining([
        expect.objectContaining({
          name: 'compliance',
          met: false,
          holding: { count: 1, first: [expect.stringMatching(/^plant-8\/.*: it never reported$/)] },
        }),
      ]),
    }),
  ]);
  await carryHome(office, sites[1]);
  succeed(await wait());

  // What was not promoted stays where it is, also when everything is built again.
  const first = await explain('prod');
  for (const [file, end] of changes) await office.edit(file, (text) => `${text}${end}`);
  // A directory has no history: qa and prod stand still, and the exit code says so.
  const standsStill = async (environment: string): Promise<void> => {
    const { code, stdout } = await build();
    const line = new RegExp(`^${environment} +not built: .* cannot be built again`, 'm');
    expect([code, stdout]).toEqual([8, expect.stringMatching(line)]);
  };
  await standsStill('qa');
  expect((await explain('qa')).state).toBe('ready');
  expect(await explain('prod')).toEqual(first);

  // The second candidate goes on to qa; the word of the site is about the first until the medium came home again.
  succeed(await office.scheduler('promote', 'qa', '--person', 'ann'));
  await standsStill('prod');
  const second = await explain('prod');
  expect([second.state, second.shared === first.shared]).toEqual(['waiting', false]);
  await carryOut(office, line);
  await carryHome(office, line);
  succeed(await office.scheduler('promote', 'prod', '--person', 'bob'));
  await buildAll();

  // Back to the first one, under a new number; the policy does not bring the second one again.
  succeed(await office.scheduler('rollback', 'prod', '--person', 'eve', '--reason', 'labels are blank'));
  const before = digestOf(await releases());
  // A directory keeps no older state, which a repository does.
  for (const [file, end] of changes) await office.edit(file, (text) => text.slice(0, -end.length));
  await standsStill('qa');
  expect(digestOf(await releases())).not.toBe(before);
  const words = ['--person', 'eve', '--reason', 'labels are blank', '--json'];
  const rejected = JSON.parse(succeed(await office.scheduler('reject', 'prod', ...words)).stdout);
  expect((await explain('prod')).state).toBe('rejected');
  const gone = await office.scheduler('wait', 'prod', '--timeout', '1s', '--candidate', rejected.candidate);
  expect([gone.code, gone.stderr]).toEqual([7, expect.stringContaining('WILL_NOT_COMPLY')]);
});
