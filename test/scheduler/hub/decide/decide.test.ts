import { join } from 'node:path';
import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { isFleetError } from '#bundles/errors';
import { loadSigningKey } from '#bundles/trust/keys/key';
import type { Json } from '#bundles/json/canonical';
import { appendApproval, approveFor, draftApproval } from '../../../../scheduler/hub/decide/approve-for.ts';
import { pauseOrResume, rejectFor } from '../../../../scheduler/hub/decide/decide-about.ts';
import { promoteTo } from '../../../../scheduler/hub/decide/promote-to.ts';
import { rollBackTo } from '../../../../scheduler/hub/decide/roll-back-to.ts';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { NOW } from '../../release/removals/office.ts';
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

test('a promotion that is asked for again is known, and the log has it once', async () => {
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

test('of two who promote at once, the second finds the promotion of the first', async () => {
  const office = await chainedOffice();
  const chain = await office.openChain();
  const both = await Promise.all(
    ['ann', 'ben'].map((person) => promoteTo(chain, { ...wish, person, reason: null, now: NOW })),
  );
  expect(both.map(({ outcome }) => outcome).toSorted()).toEqual(['known', 'promoted']);
  expect(await kinds(office)).toEqual(['promotion']);
});

test('a promotion that is repeated after a kill does not promote again what was replaced meanwhile', async () => {
  const office = await chainedOffice();
  const chain = await office.openChain();
  const first = await promoteTo(chain, { ...wish, reason: 'r', now: NOW });
  await changeShared(office, after(1));
  await promoteTo(chain, { ...wish, person: 'ben', reason: null, now: after(2) });
  const again = await promoteTo(chain, { ...wish, reason: 'r', now: NOW, isRepeat: true });
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
  expect(await rollBackTo(chain, { ...back, isRepeat: true })).toEqual(done);
  expect(await kinds(office)).toEqual(['promotion', 'promotion', 'roll-back', 'promotion']);
  // Without the mark it is another wish: back to the candidate that was replaced.
  expect((await rollBackTo(chain, { ...back, now: after(4) })).candidate).not.toBe(done.candidate);
});

test('a pause and a rejection close the gate, and repeating them adds nothing to the log', async () => {
  const office = await chainedOffice();
  const chain = await office.openChain();
  const reason = 'stock taking';
  for (const isRepeat of [false, true]) {
    await pauseOrResume(chain, 'pause', { ...wish, reason, now: NOW, isRepeat });
    await pauseOrResume(chain, 'resume', { ...wish, reason, now: after(1), isRepeat });
    await rejectFor(chain, { ...wish, reason, now: after(2), isRepeat });
  }
  expect(await kinds(office)).toEqual(['pause', 'resume', 'reject']);
  expect(await codeOf(promoteTo(chain, { ...wish, reason: null, now: after(3) }))).toBe('GATE_CLOSED');
});

test('a rejection that is repeated after a kill does not reject what was released meanwhile', async () => {
  const office = await chainedOffice();
  const chain = await office.openChain();
  const rejected = await rejectFor(chain, { ...wish, reason: 'r', now: NOW });
  await changeShared(office, after(1));
  const again = await rejectFor(chain, { ...wish, reason: 'r', now: NOW, isRepeat: true });
  expect(again).toEqual(rejected);
  expect(await kinds(office)).toEqual(['reject']);
});

const personKey = async ({ folder }: ChainedOffice) =>
  loadSigningKey(await readFile(join(folder, 'keys', 'bundle.key'), 'utf8'));

const parse = (statement: Buffer) => JSON.parse(statement.toString()) as { [key: string]: Json };

test('an approval that was signed elsewhere from the draft counts like one that is signed here', async () => {
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
  const audit = loadSigningKey(await readFile(join(office.folder, 'keys', 'audit.key'), 'utf8'));
  expect(await hand(draft, audit)).toBe('UNKNOWN_KEY');
  expect(await kinds(office)).toEqual([]);
});
