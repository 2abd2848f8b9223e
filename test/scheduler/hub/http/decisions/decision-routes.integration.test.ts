import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Digest, shortDigest } from '#bundles/digest';
import { canonicalBytes, type Json } from '#bundles/json/canonical';
import { addDays } from '#bundles/time';
import { loadSigningKey } from '#bundles/trust/keys/key';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { ONE_STAGE } from '../../../../../scheduler/hub/sites/split-by-stage.ts';
import { beginRollout, shortRollout } from '../../../../../scheduler/hub/sites/values-rollout.ts';
import { createToken } from '../../../../../scheduler/hub/sites/tokens/create-token.ts';
import { revokeToken } from '../../../../../scheduler/hub/sites/tokens/list-tokens.ts';
import { endedSubmissions } from '../../../../../scheduler/release/chain/submitted.ts';
import { lockLayout } from '../../../../../scheduler/release/write/lock-layout.ts';
import { describeEntry } from '../../../../../scheduler/views/audit/describe-entry.ts';
import { ours } from '../../../fleet-platform.ts';
import { NOW, target, workload } from '../../../release/removals/office.ts';
import { changeShared } from '../../promote/decide/chained-office.ts';
import { type Caller, type DecisionServer, decisionServer } from './decision-server.ts';

const after = (minutes: number): Date => new Date(NOW.getTime() + minutes * 60_000);

const kinds = async ({ office }: DecisionServer): Promise<readonly string[]> =>
  (await office.entries()).map((entry) =>
    entry.kind === 'decision' ? entry.predicate.decision : entry.kind,
  );

describe('a pipeline', () => {
  test('reads the gate, promotes, and is named in the audit log', async () => {
    await using made = await decisionServer();
    const ci = await made.caller('promote:prod');
    const gate = await ci.get('prod/gate');
    expect(gate).toMatchObject({ status: 200, json: { from: 'qa', to: 'prod', state: 'ready' } });
    const candidate = gate.json['candidate'];
    expect((await ci.get('prod/gate', { 'if-none-match': gate.etag ?? '' })).status).toBe(304);
    const promoted = await ci.post('prod/promotions', { candidate, reason: 'build 7 passed' });
    expect(promoted).toMatchObject({ status: 200, json: { outcome: 'promoted', number: 1, candidate } });
    expect(made.pokes()).toBe(1);
    expect((await ci.post('prod/promotions', {})).json).toMatchObject({ outcome: 'known', number: 1 });
    const [entry] = await made.office.entries();
    expect(entry?.predicate).toMatchObject({ person: 'ci', reason: 'build 7 passed', mode: 'manual' });
    const changed = await ci.get('prod/gate', { 'if-none-match': gate.etag ?? '' });
    expect(changed).toMatchObject({ status: 200, json: { state: 'promoted' } });
    expect((await ci.get('prod/promotions')).json).toMatchObject({
      environment: 'prod',
      promotions: [{ number: 1, candidate, person: 'ci', current: true }],
      next: null,
    });
    expect((await ci.get('prod/arrival')).json).toMatchObject({ environment: 'prod', state: 'waiting' });
  });

  test('submits a candidate to the first environment, and waits for it', async () => {
    await using made = await decisionServer();
    const { layout } = made.office;
    const ci = await made.caller('submit:*', 'wait:qa');
    const digest = String((await ci.get('prod/gate')).json['candidate']);
    const blob = join(layout, 'blobs/sha256', digest.slice(7));
    const candidate = JSON.parse(await readFile(blob, 'utf8')) as object;
    const body = { candidate, reason: 'pipeline 7' };
    expect(await (await made.caller('promote:qa')).post('qa/candidates', body)).toMatchObject({
      status: 403,
      code: 'TOKEN_SCOPE',
    });
    const key = { 'idempotency-key': 'pipeline-7' };
    const submitted = await ci.post('qa/candidates', body, key);
    expect(submitted).toMatchObject({ status: 200, json: { outcome: 'submitted', candidate: digest } });
    expect(made.pokes()).toBe(1);
    expect(await ci.post('qa/candidates', body, key)).toEqual(submitted);
    expect((await ci.post('qa/candidates', body)).json).toMatchObject({ outcome: 'known' });
    const [entry, ...more] = await made.office.entries();
    expect([entry?.predicate, more]).toMatchObject([
      { decision: 'submit', environment: 'qa', person: 'ci', reason: 'pipeline 7' },
      [],
    ]);

    // It is built, and not what came since: a directory has no history.
    await expect(changeShared(made.office, after(1))).rejects.toMatchObject({ code: 'CANDIDATE_MISMATCH' });
    expect((await ci.get('prod/gate')).json['candidate']).toBe(digest);
    expect(await ci.get('qa/arrival?wait=1s')).toMatchObject({ status: 200, json: { state: 'waiting' } });
    expect(await ci.get('qa/arrival?wait=2h')).toMatchObject({ status: 400, code: 'USAGE' });

    for (const [path, change, status, code] of [
      ['prod/candidates', {}, 409, 'NOT_PROMOTED'],
      ['qa/candidates', { environment: 'prod' }, 400, 'CANDIDATE_MISMATCH'],
      ['qa/candidates', { fleet: 'other' }, 400, 'CANDIDATE_MISMATCH'],
      ['qa/candidates', { sources: 'none' }, 400, 'SCHEMA'],
      ['staging/candidates', {}, 400, 'USAGE'],
    ] as const)
      expect(await ci.post(path, { ...body, candidate: { ...candidate, ...change } })).toMatchObject({
        status,
        code,
      });
    expect((await ci.post('qa/candidates', { candidate: null, reason: 'over' })).json).toMatchObject({
      outcome: 'submitted',
      candidate: null,
    });
    const log = (await (await made.reader()).get('/v1/audit')).json['entries'];
    expect(log).toMatchObject([
      { what: 'submit', candidate: null, ended: digest, reason: 'over' },
      { what: 'submit', candidate: digest, ended: null },
    ]);
    const entries = await made.office.entries();
    const ended = endedSubmissions(entries);
    expect(entries.map((one) => describeEntry(one, ended.get(one.number)).join('  '))).toEqual([
      expect.stringContaining(`  submit  ${shortDigest(digest as Digest)}  by ci: pipeline 7`),
      expect.stringContaining(
        `  end of the submission of ${shortDigest(digest as Digest)}, built from the newest state again  by ci: over`,
      ),
    ]);
    await made.office.build({ environments: ['qa'], now: after(2) });
    expect((await ci.get('prod/gate')).json['candidate']).not.toBe(digest);
  });

  test('gets the conditions of a closed gate, and may repeat the request with the same key', async () => {
    await using made = await decisionServer();
    const ci = await made.caller('promote:prod', 'pause:prod', 'resume:prod');
    expect((await ci.post('prod/pause', { reason: 'stock taking' })).json).toMatchObject({
      outcome: 'decided',
    });
    const key = { 'idempotency-key': 'build-7' };
    const closed = await ci.post('prod/promotions', {}, key);
    expect(closed).toMatchObject({
      status: 409,
      type: 'application/problem+json',
      json: {
        type: 'urn:fleet-ferry:error:GATE_CLOSED',
        title: 'Gate closed',
        status: 409,
        code: 'GATE_CLOSED',
        detail: expect.stringContaining('paused by ci'),
        state: 'paused',
        conditions: expect.arrayContaining([expect.objectContaining({ name: 'released', met: true })]),
      },
    });
    await ci.post('prod/resume', { reason: 'done' });
    expect((await ci.post('prod/promotions', {}, key)).json).toMatchObject({ outcome: 'promoted' });
  });

  test('rejects and rolls back, each with a required reason', async () => {
    await using made = await decisionServer();
    const ci = await made.caller('promote:prod', 'reject:prod', 'rollback:prod');
    await ci.post('prod/promotions', {});
    await changeShared(made.office, after(1));
    made.setNow(after(2));
    await ci.post('prod/promotions', {});
    for (const path of ['prod/rollback', 'prod/rejections'])
      expect(await ci.post(path, {})).toMatchObject({ status: 400, json: { code: 'SCHEMA' } });
    expect((await ci.post('prod/rollback', { reason: 'orders are lost' })).json).toMatchObject({
      decision: 'roll-back',
      number: 3,
    });
    expect((await ci.post('prod/rejections', { reason: 'orders are lost' })).json).toMatchObject({
      decision: 'reject',
      from: 'qa',
    });
    expect(await kinds(made)).toEqual(['promotion', 'promotion', 'roll-back', 'promotion', 'reject']);
    const first = await ci.get('prod/promotions?limit=2');
    const more = await ci.get(`prod/promotions?limit=2&cursor=${String(first.json['next'])}`);
    const numbers = [first, more].map(({ json }) =>
      (json['promotions'] as readonly { number: number }[]).map(({ number }) => number),
    );
    expect([numbers, more.json['next']]).toEqual([[[3, 2], [1]], null]);
  });

  test('rolls a channel back to an older release, and one assignment with the next build', async () => {
    await using made = await decisionServer();
    await changeShared(made.office, after(1));
    made.setNow(after(2));
    const ci = await made.caller('rollback:qa');
    const path = 'qa/releases/press/rollback';
    const one = { assignment: 'labels-host', reason: 'labels are blank' };
    const decided = {
      channel: 'qa/press',
      assignment: 'labels-host',
      decision: 'roll-back',
      to: 1,
      release: null,
    };
    expect(await ci.post(path, { ...one, release: 1 })).toMatchObject({
      status: 200,
      json: { ...decided, outcome: 'decided' },
    });
    expect((await ci.post(path, { ...one, release: 1 })).json).toMatchObject({ outcome: 'unchanged' });
    const built = await made.office.build({ environments: ['qa'], now: after(3) });
    expect(built.channels.find(({ clusterType }) => clusterType === 'press')).toMatchObject({
      outcome: 'released',
      version: 3,
      held: [{ assignment: 'labels-host', code: 'ROLLED_BACK' }],
    });
    expect((await ci.post(path, { ...one, reason: 'mended' })).json).toMatchObject({
      decision: 'resume',
      outcome: 'decided',
    });
    made.setNow(after(4));
    const key = { 'idempotency-key': 'back-to-2' };
    const whole = await ci.post(path, { release: 2, reason: 'all of it' }, key);
    expect(whole.json).toMatchObject({
      decision: 'roll-back',
      assignment: null,
      to: 2,
      release: 4,
      leaseVoid: null,
    });
    expect((await ci.post(path, { release: 2, reason: 'all of it' }, key)).json).toEqual(whole.json);
    expect((await ci.post(path, { reason: 'mended' })).json).toMatchObject({
      channel: 'qa/press',
      decision: 'resume',
      outcome: 'decided',
    });
    expect(await kinds(made)).toEqual(['roll-back', 'resume', 'roll-back', 'resume']);
  });

  test('of a workspace rolls back its assignments, and may decide nothing else', async () => {
    await using made = await decisionServer();
    await changeShared(made.office, after(1));
    made.setNow(after(2));
    const path = 'qa/releases/press/rollback';
    const one = { assignment: 'labels-host', reason: 'labels are blank', release: 1 };
    const refused = { status: 403, json: { code: 'TOKEN_SCOPE' } };
    const sales = await made.caller('rollback:qa/sales');
    for (const stranger of ['rollback:qa/bakery', 'rollback:prod/sales', 'read:qa/sales', 'rollout:qa'])
      expect(await (await made.caller(stranger)).post(path, one), stranger).toMatchObject(refused);
    for (const body of [
      { reason: one.reason, release: 1 },
      { reason: one.reason },
      { ...one, assignment: 'nothing-here' },
      { ...one, assignment: '__proto__' },
      { ...one, assignment: ['labels-host'] },
      null,
    ])
      expect(await sales.post(path, body), JSON.stringify(body)).toMatchObject(refused);
    for (const [other, body] of [
      ['qa/releases/till/rollback', one],
      ['qa/releases/nowhere/rollback', one],
      ['prod/releases/press/rollback', one],
      ['qa/rollback', { reason: one.reason }],
      ['qa/rollouts/press/pause', { reason: one.reason, assignment: 'labels-host' }],
      ['qa/promotions', { assignment: 'labels-host' }],
    ] as const)
      expect(await sales.post(other, body), other).toMatchObject(refused);
    for (const look of ['qa/gate', 'qa/releases', 'qa/rollouts'])
      expect(await sales.get(look), look).toMatchObject(refused);
    expect(await kinds(made)).toEqual([]);

    expect(await sales.post(path, one)).toMatchObject({ status: 200, json: { outcome: 'decided' } });
    const everywhere = await made.caller('rollback:*/sales');
    const ended = { assignment: 'labels-host', reason: 'mended' };
    expect(await everywhere.post(path, ended)).toMatchObject({ status: 200, json: { decision: 'resume' } });
    expect(await kinds(made)).toEqual(['roll-back', 'resume']);
  });

  test('is refused with an unknown field, and nothing is decided', async () => {
    await using made = await decisionServer();
    const ci = await made.caller('promote:prod', 'pause:prod', 'approve:prod', 'rollback:prod');
    const candidate = `sha256:${'0'.repeat(64)}`;
    for (const [path, body] of [
      ['promotions', { candidat: candidate }],
      ['pause', { reason: 'stock taking', until: 'tomorrow' }],
      ['approvals', { statement: {}, person: 'ann' }],
      ['rollback', { reason: 'orders are lost', to: 1 }],
    ] as const)
      expect(await ci.post(`prod/${path}`, body)).toMatchObject({
        status: 400,
        json: { code: 'SCHEMA', detail: expect.stringMatching(/^the request has the unknown field "\w+"$/) },
      });
    expect(await kinds(made)).toEqual([]);
  });

  test('gets MISSING_BLOB for an unknown candidate, without directories of the hub', async () => {
    await using made = await decisionServer();
    const ci = await made.caller('promote:prod');
    const candidate = `sha256:${'0'.repeat(64)}`;
    const answer = await ci.post('prod/promotions', { candidate });
    expect(answer).toMatchObject({
      status: 404,
      json: { code: 'MISSING_BLOB', detail: `the hub has no ${candidate}` },
    });
    expect(JSON.stringify(answer.json)).not.toContain(made.office.folder);
  });

  test('reads releases and rollouts, and is refused a step of an inactive rollout', async () => {
    await using made = await decisionServer();
    const ci = await made.caller('rollout:qa');
    expect((await ci.get('qa/releases')).json).toMatchObject({
      channels: [{ channel: 'qa/press', releases: [{ version: 1, current: true, revoked: null }] }],
    });
    expect((await ci.get('qa/rollouts')).json).toMatchObject({ rollouts: [] });
    for (const path of ['advance', 'pause', 'resume', 'take-back'])
      expect(await ci.post(`qa/rollouts/press/${path}`, { reason: 'checked' })).toMatchObject({
        status: 404,
        json: { code: 'ROLLOUT_MISSING' },
      });
    expect((await ci.get('qa/rollouts/press/simulation')).status).toBe(404);
  });

  test('reads rollouts of values and decides about those of its environment alone', async () => {
    await using made = await decisionServer();
    const begin = (environment: string) =>
      made.store.transact((tx) =>
        beginRollout(
          tx,
          {
            fleet: 'halden',
            environment,
            kind: 'values',
            change: 'sites set',
            person: 'ann',
            reason: 'new gateway',
            plan: ONE_STAGE,
            units: [],
            isPinned: false,
          },
          NOW,
        ),
      );
    const [qa, prod] = [shortRollout((await begin('qa')).id), shortRollout((await begin('prod')).id)];
    const ci = await made.caller('rollout:qa');
    expect((await ci.get('qa/rollouts')).json).toMatchObject({
      values: [{ rollout: qa, environment: 'qa', person: 'ann', stages: [{ name: 'all' }] }],
    });
    const pause = { reason: 'night shift' };
    expect(await ci.post(`qa/values-rollouts/${qa}/pause`, pause)).toMatchObject({
      status: 200,
      json: { rollout: qa, decision: 'pause', outcome: 'decided' },
    });
    expect(await ci.post(`qa/values-rollouts/${prod}/pause`, pause)).toMatchObject({
      status: 404,
      json: { code: 'ROLLOUT_MISSING' },
    });
    expect((await ci.post(`prod/values-rollouts/${prod}/pause`, pause)).status).toBe(403);
    const rows = await made.store.db.selectFrom('values_rollout').selectAll().orderBy('number').execute();
    expect(rows.map(({ progress }) => (JSON.parse(progress) as { paused: unknown }).paused)).toEqual([
      'night shift',
      null,
    ]);
  });
});

describe('an idempotency key', () => {
  test('returns the first response to a repeated request, and decides once', async () => {
    await using made = await decisionServer();
    const ci = await made.caller('promote:prod', 'rollback:prod');
    const key = { 'idempotency-key': '"7f1c"' };
    const first = await ci.post('prod/promotions', {}, key);
    expect(first.json).toMatchObject({ outcome: 'promoted' });
    await made.restart();
    expect((await ci.post('prod/promotions', {}, { 'idempotency-key': '7f1c' })).json).toEqual(first.json);
    expect(await kinds(made)).toEqual(['promotion']);
  });

  test('is refused with another body, and is free again after a day', async () => {
    await using made = await decisionServer();
    const ci = await made.caller('pause:prod', 'resume:prod');
    const key = { 'idempotency-key': 'one' };
    await ci.post('prod/pause', { reason: 'a' }, key);
    for (const [path, reason] of [
      ['prod/pause', 'b'],
      ['prod/resume', 'a'],
    ] as const)
      expect(await ci.post(path, { reason }, key)).toMatchObject({
        status: 422,
        json: { code: 'IDEMPOTENCY_REUSED' },
      });
    made.setNow(addDays(NOW, 1));
    expect((await ci.post('prod/resume', { reason: 'a' }, key)).json).toMatchObject({ outcome: 'decided' });
  });

  test('is refused while the first request is in progress', async () => {
    await using made = await decisionServer();
    const ci = await made.caller('pause:prod');
    const ask = () => ci.post('prod/pause', { reason: 'a' }, { 'idempotency-key': 'one' });
    const lock = await lockLayout(made.office.layout, 'build', NOW);
    const first = ask();
    const isBegun = async () =>
      (await made.store.db.selectFrom('api_request').selectAll().execute()).length === 1;
    await expect.poll(isBegun, { timeout: 10_000 }).toBe(true);
    expect(await ask()).toMatchObject({ status: 409, json: { code: 'IDEMPOTENCY_RUNNING' } });
    lock[Symbol.dispose]();
    expect((await first).status).toBe(200);
  });

  test('prevents a second decision when the hub was killed between decision and response', async () => {
    await using made = await decisionServer();
    const ci = await made.caller('promote:prod', 'rollback:prod');
    const first = await ci.get('prod/gate');
    await ci.post('prod/promotions', {});
    await changeShared(made.office, after(1));
    made.setNow(after(2));
    await ci.post('prod/promotions', {});
    const ask = () => ci.post('prod/rollback', { reason: 'r' }, { 'idempotency-key': 'back' });
    const done = await ask();
    // What a kill between the two leaves: the entries in the log, and a row without an answer.
    await made.store.db.updateTable('api_request').set({ answer: null }).execute();
    made.setNow(after(3));
    await made.restart();
    expect(await ask()).toEqual(done);
    expect(done.json['candidate']).toBe(first.json['candidate']);
    expect(await kinds(made)).toEqual(['promotion', 'promotion', 'roll-back', 'promotion']);
  });

  test('is refused when it is empty, too long, or has other characters than visible ASCII', async () => {
    await using made = await decisionServer();
    const ci = await made.caller('pause:prod');
    for (const text of ['', 'with space', 'x'.repeat(256), 'ü']) {
      const answer = await ci.post('prod/pause', { reason: 'a' }, { 'idempotency-key': text });
      expect(answer).toMatchObject({ status: 400, json: { code: 'USAGE' } });
    }
    expect(await kinds(made)).toEqual([]);
  });
});

describe('a token of one environment', () => {
  test('H31: does not decide for another', async () => {
    await using made = await decisionServer();
    const verbs = ['promote', 'reject', 'pause', 'rollback', 'rollout', 'approve'];
    const other = await made.caller(...verbs.map((verb) => `${verb}:qa`));
    for (const [path, body] of [
      ['promotions', { reason: 'r' }],
      ['rejections', { reason: 'r' }],
      ['pause', { reason: 'r' }],
      ['rollback', { reason: 'r' }],
      ['rollouts/press/advance', { reason: 'r' }],
      ['approvals', { statement: {} }],
    ] as const)
      expect(await other.post(`prod/${path}`, body)).toMatchObject({
        status: 403,
        json: { code: 'TOKEN_SCOPE' },
      });
    expect((await other.get('prod/gate')).json).toMatchObject({ code: 'TOKEN_SCOPE' });
    expect(await kinds(made)).toEqual([]);
  });

  test('H31: does not decide what its verbs do not name', async () => {
    await using made = await decisionServer();
    const waits = await made.caller('wait:*');
    expect((await waits.get('prod/gate')).status).toBe(200);
    expect((await waits.post('prod/promotions', {})).json).toMatchObject({ code: 'TOKEN_SCOPE' });
    const reader = await made.reader();
    expect((await reader.get('prod/gate')).status).toBe(200);
    expect((await reader.post('prod/promotions', {})).json).toMatchObject({ code: 'TOKEN_SCOPE' });
  });
});

describe('a token for decisions', () => {
  test('H32: that ended or was revoked decides nothing, and gets no stored answer', async () => {
    await using made = await decisionServer();
    const order = {
      scope: 'decide',
      person: 'ci',
      allowances: [{ verb: 'promote', environment: '*' }],
    } as const;
    const terms = { note: undefined, expires: addDays(NOW, 1), now: NOW };
    const { token, row } = await createToken(made.store, order, terms);
    const ci = made.callerWith(token);
    const key = { 'idempotency-key': 'one' };
    expect((await ci.post('prod/promotions', {}, key)).status).toBe(200);
    made.setNow(addDays(NOW, 1));
    const refused = { status: 401, type: 'application/problem+json', json: { code: 'TOKEN_INVALID' } };
    expect(await ci.post('prod/promotions', {}, key)).toMatchObject(refused);
    made.setNow(NOW);
    await revokeToken(made.store, row.id, NOW);
    expect(await ci.post('prod/promotions', {}, key)).toMatchObject(refused);
    expect(await ci.get('prod/gate')).toMatchObject(refused);
  });
});

test('H33: an idempotency key of another token gets neither its answer nor its decision', async () => {
  await using made = await decisionServer();
  const ci = await made.caller('pause:prod');
  const key = { 'idempotency-key': 'one' };
  await ci.post('prod/pause', { reason: 'a' }, key);
  const other = await made.caller('promote:prod');
  expect(await other.post('prod/pause', { reason: 'a' }, key)).toMatchObject({
    status: 403,
    json: { code: 'TOKEN_SCOPE' },
  });
  expect(await kinds(made)).toEqual(['pause']);
});

test('H34: a body over the limit is refused, and not read before the token is checked', async () => {
  await using made = await decisionServer();
  const body = { reason: 'x'.repeat(70_000) };
  const ci = await made.caller('pause:prod');
  expect(await ci.post('prod/pause', body)).toMatchObject({ status: 413, json: { code: 'TOO_LARGE' } });
  expect((await made.callerWith('ffd_nobody').post('prod/pause', body)).json).toMatchObject({
    code: 'TOKEN_INVALID',
  });
});

describe('an approval', () => {
  const bundleKey = async ({ office: { folder } }: DecisionServer) =>
    loadSigningKey(await readFile(join(folder, 'keys', 'bundle.key'), 'utf8'));
  const draft = async (caller: Awaited<ReturnType<DecisionServer['caller']>>) =>
    canonicalBytes((await caller.get('prod/approval?person=ann&reason=ok')).json as Json);
  const parse = (bytes: Buffer): object => JSON.parse(bytes.toString()) as object;

  test('H35: that a person signed counts, no matter who hands it over, and as that person', async () => {
    await using made = await decisionServer();
    const ci = await made.caller('approve:prod');
    const statement = parse(await signPayload(await draft(ci), await bundleKey(made)));
    const other = await made.caller('approve:prod');
    expect(await other.post('prod/approvals', { statement })).toMatchObject({
      status: 200,
      json: { outcome: 'appended', person: 'ann', to: 'prod' },
    });
    expect((await ci.post('prod/approvals', { statement })).json).toMatchObject({ outcome: 'known' });
  });

  test('H35: that the holder of a token signed with another key is refused', async () => {
    await using made = await decisionServer();
    const ci = await made.caller('approve:prod');
    const key = loadSigningKey(await readFile(join(made.office.folder, 'keys', 'audit.key'), 'utf8'));
    const statement = parse(await signPayload(await draft(ci), key));
    expect(await ci.post('prod/approvals', { statement })).toMatchObject({
      status: 400,
      json: { code: 'UNKNOWN_KEY' },
    });
    expect(await kinds(made)).toEqual([]);
  });
});

describe('an approver of one workspace', () => {
  // What only prod has is promoted by nobody: it would be held, and could change at any time.
  const both = (name: string, runs: string): readonly string[] =>
    ['qa', 'prod'].map((environment) => target(name, environment, runs));
  const files = {
    'apps/scale/deploy/workload.yaml': workload('scale', ...both('host', 'host'), ...both('till', 'till')),
    'apps/info/deploy/workload.yaml': workload('info', ...both('screen', 'screen')),
    'platform/base/scale.yaml': ours(
      'WorkloadRegistration',
      'scale',
      'spec:\n  workspace: weighing\n  workload: {repo: ../apps/scale, path: deploy}\n',
    ),
    'platform/promotion/qa-to-prod.yaml': ours(
      'PromotionPolicy',
      'qa-to-prod',
      'spec:\n  from: qa\n  to: prod\n  approvals: {required: 1, notAuthor: false}\n',
    ),
  };
  const refused = (why: string) => ({
    status: 403,
    json: { code: 'TOKEN_SCOPE', detail: expect.stringContaining(`prod ${why}`) },
  });

  test('approves and rejects candidates that change only its workspace, or its part under a policy by workspace', async () => {
    await using made = await decisionServer({}, files);
    const { office } = made;
    const key = loadSigningKey(await readFile(join(office.folder, 'keys', 'bundle.key'), 'utf8'));
    const of = (workspace: string, ...more: readonly string[]) =>
      made.caller(...['read', 'approve', 'reject'].map((verb) => `${verb}:prod/${workspace}`), ...more);
    const [whole, seller, weigher] = [
      await made.caller('approve:prod', 'promote:prod'),
      await of('sales'),
      await of('weighing', 'read:prod/sales'),
    ];
    const approve = async (caller: Caller, drafter = caller) => {
      const draft = (await drafter.get('prod/approval?person=ann&reason=ok')).json;
      const statement = JSON.parse(
        (await signPayload(canonicalBytes(draft as Json), key)).toString(),
      ) as object;
      return caller.post('prod/approvals', { statement });
    };
    const promote = async (minutes: number): Promise<void> => {
      expect((await whole.post('prod/promotions', {})).status).toBe(200);
      await office.build({ now: after(minutes) });
    };

    // The first candidate brings both workspaces.
    const hidden = 'which also changes 1 workspace that you may not see';
    expect((await seller.get('prod/gate')).json['limited']).toEqual({
      workspaces: ['sales'],
      whyNotApprove: hidden,
      whyNotReject: hidden,
    });
    expect(await approve(seller)).toMatchObject(refused(`of this candidate, ${hidden}`));
    expect(await approve(weigher)).toMatchObject(refused('of this candidate, which also changes sales'));
    expect(await seller.post('prod/rejections', { reason: 'no' })).toMatchObject(
      refused(`of this candidate, ${hidden}`),
    );
    expect((await seller.get('prod/promotions')).status).toBe(403);
    expect((await approve(whole)).json).toMatchObject({ outcome: 'appended', workspaces: null });
    await promote(1);

    // The second one changes sales alone.
    await changeShared(office, after(2));
    expect(await approve(weigher)).toMatchObject(
      refused('of this candidate, which changes nothing of weighing'),
    );
    expect(await approve(seller, whole)).toMatchObject(
      refused('of everything, only of what changes in sales'),
    );
    expect(await approve(seller, weigher)).toMatchObject(refused('for weighing, only for sales'));
    expect(await approve(seller)).toMatchObject({ status: 200, json: { workspaces: ['sales'] } });
    expect((await seller.get('prod/gate')).json).toMatchObject({
      state: 'ready',
      limited: { whyNotApprove: null, whyNotReject: null },
    });
    const log = (await (await made.reader()).get('/v1/audit?environment=prod')).json['entries'];
    expect(log).toMatchObject([
      { what: 'approval', person: 'ann', workspaces: ['sales'] },
      { what: 'promotion' },
      { what: 'approval', workspaces: null },
    ]);
    await promote(3);

    // The third one changes both, and the policy asks each.
    await office.edit('platform/promotion/qa-to-prod.yaml', (text) =>
      text.replace('notAuthor: false', 'notAuthor: false, eachWorkspace: true'),
    );
    await office.edit('apps/scale/host/package.yaml', (text) => text.replace('/opt/scale', '/opt/scale/two'));
    await office.edit('apps/labels/host/package.yaml', (text) => text.replace('/two', '/three'));
    await office.build({ environments: ['qa'], now: after(4) });
    expect((await approve(seller)).status).toBe(200);
    const waits = await whole.get('prod/gate');
    expect(waits.json).toMatchObject({
      state: 'waiting',
      conditions: expect.arrayContaining([
        expect.objectContaining({
          name: 'approvals',
          met: false,
          holding: { count: 1, first: ['weighing: waits for 1 approval'] },
        }),
      ]),
    });
    const own = await seller.get('prod/gate');
    expect(JSON.stringify(own.json)).not.toContain('weighing');
    expect(own.json['limited']).toEqual({ workspaces: ['sales'], whyNotApprove: null, whyNotReject: hidden });
    expect((await whole.post('prod/promotions', {})).json).toMatchObject({ code: 'GATE_CLOSED' });
    expect((await approve(weigher)).status).toBe(200);
    // One key approves once: its newer approval is the one that counts.
    expect((await whole.get('prod/gate')).json).toMatchObject({
      conditions: expect.arrayContaining([
        expect.objectContaining({ holding: { count: 1, first: ['sales: waits for 1 approval'] } }),
      ]),
    });
    await approve(whole);
    await promote(5);
  });
});
