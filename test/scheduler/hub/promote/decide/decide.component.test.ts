import { join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import type { Digest } from '#bundles/digest';
import { FleetError, isFleetError } from '#bundles/errors';
import { loadSigningKey } from '#bundles/trust/keys/key';
import type { Json } from '#bundles/json/canonical';
import {
  appendApproval,
  approveFor,
  draftApproval,
} from '../../../../../scheduler/hub/promote/decide/approve-for.ts';
import { pauseOrResume, rejectFor } from '../../../../../scheduler/hub/promote/decide/decide-about.ts';
import { checkArrival } from '../../../../../scheduler/hub/promote/gate/await-arrival.ts';
import { promoteTo } from '../../../../../scheduler/hub/promote/decide/promote-to.ts';
import { rollBackTo } from '../../../../../scheduler/hub/promote/decide/roll-back-to.ts';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { openLayout } from '#bundles/formats/layout/layout';
import { bundlesOf, readRelease } from '../../../../../scheduler/load/releases/read-release.ts';
import { lineagesOf } from '../../../../../scheduler/load/releases/check-promoted.ts';
import { withNewestStatement } from '../../../../../scheduler/load/releases/newest-statement.ts';
import { decideStep } from '../../../../../scheduler/hub/promote/rollout/decide-step.ts';
import { openReleases } from '../../../../../scheduler/release/write/open-releases.ts';
import { revokeBundle } from '../../../../../scheduler/release/revoke/revoke-bundle.ts';
import { requireCurrentRollout } from '../../../../../scheduler/release/rollout/carry-out.ts';
import { NOW, target, workload } from '../../../release/removals/office.ts';
import { chainedOffice, changeShared, type ChainedOffice } from './chained-office.ts';

const { signal } = new AbortController();
const after = (minutes: number): Date => new Date(NOW.getTime() + minutes * 60_000);
const wish = { environment: 'prod', candidate: undefined, person: 'ann', signal };

const codeOf = (call: Promise<unknown>): Promise<string | undefined> =>
  call.then(
    () => undefined,
    (error: unknown) => (isFleetError(error) ? error.code : Promise.reject(error)),
  );

const kinds = async (office: ChainedOffice): Promise<readonly string[]> =>
  (await office.entries()).map((entry) =>
    entry.kind === 'decision' ? entry.predicate.decision : entry.kind,
  );

test('a repeated promotion is known, and is in the log once', async () => {
  const office = await chainedOffice();
  const chain = await office.openChain();
  const first = await promoteTo(chain, { ...wish, reason: null, now: NOW });
  expect([first.outcome, first.number, first.from, first.to]).toEqual(['promoted', 1, 'qa', 'prod']);
  expect(await promoteTo(chain, { ...wish, reason: null, now: after(1) })).toMatchObject({
    outcome: 'known',
    number: 1,
  });
  expect(await kinds(office)).toEqual(['promotion']);
});

test('a promotion without an audit key is refused before anything is signed', async () => {
  const office = await chainedOffice();
  const { hub, promotion } = await office.openChain();
  const asked: string[] = [];
  const key: typeof hub.keys.key = (role) => {
    asked.push(role);
    if (role === 'audit') throw new FleetError('KEY_MISSING', 'there is no audit key');
    return hub.keys.key(role);
  };
  const chain = { hub: { ...hub, keys: { ...hub.keys, key } }, promotion };
  expect(await codeOf(promoteTo(chain, { ...wish, reason: null, now: NOW }))).toBe('KEY_MISSING');
  expect(asked).toEqual(['audit']);
  expect(await kinds(office)).toEqual([]);
});

test('of two concurrent promotions, the second finds the first', async () => {
  const office = await chainedOffice();
  const chain = await office.openChain();
  const both = await Promise.all(
    ['ann', 'ben'].map((person) => promoteTo(chain, { ...wish, person, reason: null, now: NOW })),
  );
  expect(both.map(({ outcome }) => outcome).toSorted()).toEqual(['known', 'promoted']);
  expect(await kinds(office)).toEqual(['promotion']);
});

test('a promotion repeated after a kill does not promote a candidate that was replaced meanwhile', async () => {
  const office = await chainedOffice();
  const chain = await office.openChain();
  const first = await promoteTo(chain, { ...wish, reason: 'r', now: NOW });
  await changeShared(office, after(1));
  await promoteTo(chain, { ...wish, person: 'ben', reason: null, now: after(2) });
  const again = await promoteTo(chain, { ...wish, reason: 'r', now: after(5), repeats: NOW });
  expect(again).toMatchObject({ outcome: 'known', number: 1, candidate: first.candidate });
  expect(await kinds(office)).toEqual(['promotion', 'promotion']);
});

test('a rollback that is repeated after a kill keeps its candidate, and is decided once', async () => {
  const office = await chainedOffice();
  const chain = await office.openChain();
  const first = await promoteTo(chain, { ...wish, reason: null, now: NOW });
  await changeShared(office, after(1));
  await promoteTo(chain, { ...wish, reason: null, now: after(2) });
  const back = { ...wish, reason: 'orders are lost', now: after(3) };
  const done = await rollBackTo(chain, back);
  expect(done).toMatchObject({ ...first.candidate, number: 3 });
  expect(await rollBackTo(chain, { ...back, now: after(4), repeats: back.now })).toEqual(done);
  expect(await kinds(office)).toEqual(['promotion', 'promotion', 'roll-back', 'promotion']);
  // Without the mark it is another wish: back to the candidate that was replaced.
  expect((await rollBackTo(chain, { ...back, now: after(5) })).candidate).not.toBe(done.candidate);
});

test('a pause and a rejection close the gate, and repeating them adds nothing to the log', async () => {
  const office = await chainedOffice();
  const chain = await office.openChain();
  const reason = 'stock taking';
  for (const repeats of [undefined, NOW]) {
    const again = { ...wish, reason, now: repeats ? after(5) : NOW, repeats };
    await pauseOrResume(chain, 'pause', again);
    await pauseOrResume(chain, 'resume', again);
    await rejectFor(chain, again);
  }
  expect(await kinds(office)).toEqual(['pause', 'resume', 'reject']);
  expect(await codeOf(promoteTo(chain, { ...wish, reason: null, now: after(3) }))).toBe('GATE_CLOSED');
});

test('a rollback without any promotion is NOT_PROMOTED, with the command that promotes', async () => {
  const office = await chainedOffice();
  const back = rollBackTo(await office.openChain(), { ...wish, reason: 'r', now: NOW });
  await expect(back).rejects.toMatchObject({
    code: 'NOT_PROMOTED',
    message: 'no candidate was ever promoted from qa to prod',
    hint: expect.stringMatching(/^Promote with: fleet-scheduler promote prod;/),
  });
});

test('a promotion from an environment without a promotion names what to promote first', async () => {
  const office = await chainedOffice();
  await office.edit('platform/fleet.yaml', (text) =>
    text.replace(
      '{name: prod, promotedFrom: qa}',
      '{name: pre, promotedFrom: qa}, {name: prod, promotedFrom: pre}',
    ),
  );
  const { hub, promotion } = await office.openChain();
  const hint = expect.stringContaining('with: fleet-scheduler promote pre --build');
  const refused = { code: 'RELEASE_MISSING', hint };
  await expect(promoteTo({ hub, promotion }, { ...wish, reason: null, now: NOW })).rejects.toMatchObject(
    refused,
  );
  const waits = { environment: 'pre', candidate: undefined, now: NOW, signal };
  await expect(checkArrival(hub, promotion, waits)).rejects.toMatchObject(refused);
});

test('wait ends for a candidate that restated a released bundle once another candidate did, also without releases', async () => {
  const office = await chainedOffice();
  const { hub, promotion } = await office.openChain();
  const restate = async (text: string): Promise<Digest> => {
    await office.edit('platform/fleet.yaml', (before) => `# ${text}\n${before}`);
    await office.build({ environments: ['qa'], now: NOW });
    const layout = await openLayout(office.layout);
    const release = await readRelease(layout, { environment: 'qa', clusterType: 'press' }, hub.keys.roots);
    const [stated] = release ? await lineagesOf(layout, await withNewestStatement(layout, release)) : [];
    if (!stated) throw new Error('qa has no statement');
    return stated.candidate;
  };
  const look = (candidate: Digest) =>
    checkArrival(hub, promotion, { environment: 'qa', candidate, now: NOW, signal });
  const one = await restate('one');
  expect((await look(one)).state).not.toBe('cannot');
  const two = await restate('two');
  expect(two).not.toBe(one);
  expect(await look(one)).toMatchObject({ state: 'cannot', why: 'another candidate replaced it' });
  expect((await look(two)).state).not.toBe('cannot');
});

const STRICT = `apiVersion: fleet-ferry/v1alpha1
kind: PromotionPolicy
metadata: {name: strict}
spec:
  from: qa
  to: prod
  compliance: {percent: 100}
  approvals: {required: 1, notAuthor: false}
  soak: 1h
  freeze: [{from: 2026-11-01, to: 2026-12-01}]
`;

test('a refusal lists three conditions, the number of the others, and the command that lists all', async () => {
  const office = await chainedOffice({ 'platform/promotion/strict.yaml': STRICT });
  const promoted = promoteTo(await office.openChain(), { ...wish, reason: null, now: NOW });
  await expect(promoted).rejects.toMatchObject({
    code: 'GATE_CLOSED',
    message: expect.stringMatching(
      /^the gate from qa to prod is closed \(waiting\): compliance: [^;]+; soak: [^;]+; approvals: [^;]+; and 1 more$/,
    ),
    hint: expect.stringContaining('promote prod --explain'),
  });
});

test('a rejection repeated after a kill does not reject a candidate that was released meanwhile', async () => {
  const office = await chainedOffice();
  const chain = await office.openChain();
  const rejected = await rejectFor(chain, { ...wish, reason: 'r', now: NOW });
  await changeShared(office, after(1));
  const again = await rejectFor(chain, { ...wish, reason: 'r', now: after(5), repeats: NOW });
  expect(again).toEqual(rejected);
  expect(await kinds(office)).toEqual(['reject']);
});

const personKey = async ({ folder }: ChainedOffice) =>
  loadSigningKey(await readFile(join(folder, 'keys', 'bundle.key'), 'utf8'));

const parse = (statement: Buffer) => JSON.parse(statement.toString()) as { [key: string]: Json };

test('an approval signed elsewhere from the draft counts like one signed here', async () => {
  const office = await chainedOffice();
  const chain = await office.openChain();
  const asked = { ...wish, stage: undefined, reason: 'load test', now: NOW };
  const draft = await draftApproval(chain, asked);
  const key = await personKey(office);
  const handedOver = { environment: 'prod', now: after(1), signal };
  const appended = await appendApproval(chain, parse(await signPayload(draft, key)), handedOver);
  expect(appended).toMatchObject({ outcome: 'appended', to: 'prod', person: 'ann' });
  expect(await approveFor(chain, asked, key)).toMatchObject({ outcome: 'known' });
  expect(await kinds(office)).toEqual(['approval']);
});

test('an approval for another environment, of an unknown candidate or by an unknown key is refused by name', async () => {
  const office = await chainedOffice();
  const chain = await office.openChain();
  const asked = { ...wish, stage: undefined, reason: '', now: NOW };
  const draft = (await draftApproval(chain, asked)).toString();
  const key = await personKey(office);
  const hand = async (payload: string, by = key) =>
    codeOf(
      appendApproval(chain, parse(await signPayload(Buffer.from(payload), by)), {
        environment: 'prod',
        now: NOW,
        signal,
      }),
    );
  expect(await hand(draft.replace('"to":"prod"', '"to":"qa"'))).toBe('WRONG_ENVIRONMENT');
  expect(await hand(draft.replace(/("sha256":")[0-9a-f]{4}/, '$10000'))).toBe('MISSING_BLOB');
  expect(await hand(draft.replace(/("shared":"sha256:)[0-9a-f]{4}/, '$10000'))).toBe('SUBJECT_MISMATCH');
  // An older reader would count it for everything.
  expect(await hand(draft.replace('"critical":[]', '"critical":[],"workspaces":["sales"]'))).toBe('SCHEMA');
  const audit = loadSigningKey(await readFile(join(office.folder, 'keys', 'audit.key'), 'utf8'));
  expect(await hand(draft, audit)).toBe('UNKNOWN_KEY');
  expect(await kinds(office)).toEqual([]);
});

const STAGES = `apiVersion: fleet-ferry/v1alpha1
kind: RolloutPolicy
metadata: {name: prod-rings}
spec:
  environment: prod
  stages:
    - {name: pilot, selector: {matchLabels: {ring: pilot}}}
    - {name: all, percent: 100, approvals: 1}
`;

test('an approval of a stage counts for the candidate of the rollout only', async () => {
  const office = await chainedOffice({ 'platform/promotion/rollout.yaml': STAGES });
  const chain = await office.openChain();
  const key = await personKey(office);
  const approve = (stage: string) =>
    approveFor(chain, { ...wish, stage, reason: 'seen', now: after(2) }, key);
  expect(await codeOf(approve('all'))).toBe('ROLLOUT_MISSING');
  await promoteTo(chain, { ...wish, reason: null, now: NOW });
  await office.build({ environments: ['prod'], now: after(1) });
  const before = await kinds(office);
  await expect(approve('al')).rejects.toMatchObject({
    code: 'USAGE',
    hint: 'Did you mean all? They have pilot, all',
  });
  await expect(approve('pilot')).rejects.toMatchObject({
    code: 'USAGE',
    message: 'stage pilot has begun, so it needs no approval',
  });
  expect(await kinds(office)).toEqual(before);
  await approve('all');
  const channel = { environment: 'prod', clusterType: 'press' };
  const rolling = await requireCurrentRollout(
    await openLayout(office.layout),
    chain.hub.keys,
    channel,
    after(3),
  );
  expect(rolling.progress.approvals.get('all')?.size).toBe(1);
});

test('a second pause and a resume of a running rollout are reported and write nothing', async () => {
  const office = await chainedOffice({ 'platform/promotion/rollout.yaml': STAGES });
  const chain = await office.openChain();
  const about = async (decision: 'pause' | 'resume', minutes: number) =>
    (await pauseOrResume(chain, decision, { ...wish, reason: 'r', now: after(minutes) })).outcome;
  expect(await about('resume', 1)).toBe('unchanged');
  expect(await about('pause', 2)).toBe('decided');
  expect(await about('pause', 3)).toBe('unchanged');
  expect(await kinds(office)).toEqual(['pause']);
  expect(await about('resume', 4)).toBe('decided');

  await promoteTo(chain, { ...wish, reason: null, now: NOW });
  await office.build({ environments: ['prod'], now: after(5) });
  const step = (decision: 'pause' | 'resume', minutes: number) =>
    decideStep(chain.hub.keys, office.layout, {
      channel: { environment: 'prod', clusterType: 'press' },
      decision,
      person: 'ann',
      reason: 'r',
      now: after(minutes),
    });
  const before = (await kinds(office)).length;
  expect((await step('resume', 6)).outcome).toBe('unchanged');
  expect((await step('pause', 7)).outcome).toBe('decided');
  expect((await step('pause', 8)).outcome).toBe('unchanged');
  expect((await step('resume', 9)).outcome).toBe('decided');
  expect((await kinds(office)).slice(before)).toEqual(['pause', 'resume']);
  await about('pause', 10);
  await expect(step('resume', 11)).rejects.toMatchObject({
    code: 'USAGE',
    hint: 'Resume it with: fleet-scheduler resume prod',
  });
});

test('a link with an edited source environment starts without promotions, and the released candidate stays', async () => {
  const till = ['qa', 'prod'].map((environment) => target('till', environment, 'till'));
  const office = await chainedOffice({ 'apps/scale/deploy/workload.yaml': workload('scale', ...till) });
  const chain = await office.openChain();
  await promoteTo(chain, { ...wish, reason: null, now: NOW });
  await office.build({ environments: ['prod'], now: after(1) });
  await office.edit('platform/fleet.yaml', (text) =>
    text.replace('{name: qa}', '{name: qa}, {name: dev}').replace('promotedFrom: qa', 'promotedFrom: dev'),
  );
  const kept = await office.build({ environments: ['prod'], now: after(2) });
  expect(kept.channels.map(({ outcome }) => outcome)).toEqual(['unchanged', 'unchanged']);
  const edited = await office.openChain();
  expect(await codeOf(promoteTo(edited, { ...wish, reason: null, now: after(3) }))).toBe('RELEASE_MISSING');
  await office.build({ environments: ['dev'], now: after(4) });
  const back = rollBackTo(edited, { ...wish, reason: 'r', now: after(5) });
  await expect(back).rejects.toMatchObject({
    code: 'NOT_PROMOTED',
    message: 'no candidate was ever promoted from dev to prod',
  });
});

test('a promotion to a renamed or removed environment is refused by name, and its releases stay', async () => {
  const office = await chainedOffice();
  const chain = await office.openChain();
  const first = await promoteTo(chain, { ...wish, reason: null, now: NOW });
  await office.build({ environments: ['prod'], now: after(1) });
  await office.edit('platform/fleet.yaml', (text) => text.replace('name: prod', 'name: production'));
  const renamed = await office.openChain();
  await expect(promoteTo(renamed, { ...wish, reason: null, now: after(2) })).rejects.toMatchObject({
    code: 'USAGE',
    message: 'the fleet has no environment prod',
    hint: 'It has qa, production',
  });
  expect((await office.build({ environments: ['production'], now: after(3) })).environments).toMatchObject([
    { environment: 'production', waits: { code: 'NOT_PROMOTED' }, channels: [] },
  ]);
  // Under its old name again it goes on with its promotion.
  await office.edit('platform/fleet.yaml', (text) => text.replace('name: production', 'name: prod'));
  const built = await office.build({ environments: ['prod'], now: after(4) });
  expect(built.environments[0]?.promoted).toMatchObject({ number: 1, shared: first.candidate.shared });
});

test('a candidate whose bundle was revoked is not promoted', async () => {
  const office = await chainedOffice();
  const chain = await office.openChain();
  const { keys } = chain.hub;
  const release = await readRelease(
    await openLayout(office.layout),
    { environment: 'qa', clusterType: 'press' },
    keys.roots,
  );
  const [bundle] = release ? bundlesOf(release) : [];
  if (bundle === undefined) throw new Error('no bundle');
  {
    using releases = await openReleases(office.layout, { command: 'revoke', now: NOW });
    const { references } = await revokeBundle(await releases.open(), keys, {
      channel: { environment: 'qa', clusterType: 'press' },
      bundle,
      reason: 'labels are blank',
      instead: 'next build',
      now: NOW,
    });
    await releases.point(references);
  }
  expect(await codeOf(promoteTo(chain, { ...wish, reason: null, now: after(1) }))).toBe('RELEASE_MISSING');
  expect(await kinds(office)).toEqual([]);
});
