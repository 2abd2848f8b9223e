import { join } from 'node:path';
import type { Kysely } from 'kysely';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import { appendChanges } from '../../../../../scheduler/hub/changes/append-changes.ts';
import {
  acceptLocalEdit,
  refuseLocalEdit,
} from '../../../../../scheduler/hub/promote/values/answer-local-edit.ts';
import { answerSiteValues } from '../../../../../scheduler/hub/promote/values/answer-site-values.ts';
import { parseAllowance } from '../../../../../scheduler/hub/sites/tokens/allowance.ts';
import { approveValues, rejectValues } from '../../../../../scheduler/hub/promote/values/approve-values.ts';
import { readProposals } from '../../../../../scheduler/hub/promote/values/propose-values.ts';
import { explainSite, formatSite } from '../../../../../scheduler/hub/questions/answers/explain-site.ts';
import { issueSite } from '../../../../../scheduler/hub/sites/issue-site.ts';
import { renewSites } from '../../../../../scheduler/hub/sites/renew-sites.ts';
import { listSites } from '../../../../../scheduler/hub/sites/list-sites.ts';
import { findLocalEdit, readLocalEdits } from '../../../../../scheduler/hub/sites/local-edits.ts';
import { revokeAgent } from '../../../../../scheduler/hub/sites/revoke-agent.ts';
import { setManyValues } from '../../../../../scheduler/hub/sites/set-many-values.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { addLocalEdits } from '../../../../../scheduler/hub/store/add-local-edits.ts';
import { DEFAULT_LIMITS } from '../../../../../scheduler/keys/signer/limits.ts';
import { createComposeReleased } from '../../../../../scheduler/plan/compose/compose-released.ts';
import { createSigner } from '../../../../../scheduler/keys/signer/signer.ts';
import { openSignerState } from '../../../../../scheduler/keys/signer/state/open-state.ts';
import { readAuditLog } from '../../../../../scheduler/load/releases/audit-log.ts';
import type { ValuesReview } from '../../../../../scheduler/settings/values-review.ts';
import type { SigningKey } from '#bundles/trust/keys/key';
import type { Json } from '#bundles/json/canonical';
import { verdict } from '../../../../bundles/verdict.ts';
import { chain, enrolled, leave, NOW, report, reportOf, testAgent } from '../../test-hub.ts';
import { bringHome, decide, localHub, setThere, states, unsetThere, valuesAtHub } from './local-hub.ts';
import { release, type ValuesHub } from './values-hub.ts';

const ONE: ValuesReview = { approvals: { required: 1, from: [], notAuthor: true }, roles: {} };
const OTTO = { person: 'otto', reason: 'agreed with the plant' };

const setAtOffice = async (hub: ValuesHub, set: Readonly<Record<string, Json>>) =>
  setManyValues(hub.store, {
    changes: [{ site: 'plant-7', set, unset: [] }],
    signer: await siteSigner(hub),
    now: NOW,
  });

const auditLog = async (hub: ValuesHub) => {
  await appendChanges(hub, { command: 'test', now: NOW });
  const { entries } = await readAuditLog(await openLayout(hub.layout), hub.keys.roots);
  return entries.flatMap(({ kind, predicate }) =>
    kind === 'change' ? [[predicate.change, predicate.person, predicate.reason] as const] : [],
  );
};

describe('a value that a person at a site set', () => {
  it('waits for a person by default, and is shown where the site is', async () => {
    await using hub = await localHub();
    await setAtOffice(hub, { line: 7 });
    await bringHome(hub, hub.agent, [setThere(hub.agent, { name: 'line', value: 8, given: 7 })]);
    expect(await decide(hub)).toEqual([{ name: 'line', outcome: 'waiting', note: null }]);
    expect((await valuesAtHub(hub)).local).toBeUndefined();
    const [site] = await listSites(hub.store.db, hub.store.fleet);
    expect(site?.agents[0]?.local).toMatchObject([
      { name: 'line', value: 8, person: 'anna', state: 'waiting' },
    ]);
    const explained = await explainSite(hub, 'plant-7');
    const input = explained[0]?.assignments[0]?.inputs.find(({ name }) => name === 'line');
    expect(input).toMatchObject({
      used: { origin: 'local', value: 8, person: 'anna at plant-7/press-1', since: '2026-11-20T08:00:00Z' },
      overrides: [{ origin: 'site', value: 7 }],
    });
    const form = await answerSiteValues(hub, 'plant-7', [parseAllowance('read:*')]);
    const given = form?.places.flatMap(({ values }) => values).find(({ name }) => name === 'line');
    expect(given).toMatchObject({
      given: { value: 7 },
      local: { value: 8, person: 'anna at plant-7/press-1' },
    });
    expect(formatSite('plant-7', explained).join('\n')).toContain('line = 8  from local, by anna');
  });

  it('is accepted by the rule: it is the site’s value, with the answer and the person', async () => {
    await using hub = await localHub();
    await setAtOffice(hub, { line: 7 });
    const happening = setThere(hub.agent, { name: 'line', value: 8, given: 7 });
    await bringHome(hub, hub.agent, [happening]);
    expect(await decide(hub, { localEdits: 'accept' })).toMatchObject([{ outcome: 'accepted' }]);
    const document = await valuesAtHub(hub);
    expect(document.values).toEqual({ line: 8 });
    expect(document.local).toEqual({
      'press-1': {
        line: {
          edit: happening.detail?.['edit'],
          outcome: 'accepted',
          reason: 'siteValues.localEdits: accept',
        },
      },
    });
    expect(await auditLog(hub)).toContainEqual([
      'sites values accept',
      'anna at plant-7/press-1',
      expect.stringContaining('line 7 is being rebuilt'),
    ]);
    expect(await decide(hub, { localEdits: 'accept' })).toEqual([]);
  });

  it('is the agent’s value where the site has more agents', async () => {
    await using hub = await localHub();
    await enrolled(hub, 'plant-7/press-2');
    await bringHome(hub, hub.agent, [setThere(hub.agent, { name: 'line', value: 8 })]);
    await decide(hub, { localEdits: 'accept' });
    expect(await valuesAtHub(hub)).toMatchObject({ values: {}, agents: { 'press-1': { line: 8 } } });
  });

  it('is refused by the rule, or by a person: the answer takes it back', async () => {
    await using hub = await localHub();
    await setAtOffice(hub, { line: 7, mode: 'auto' });
    await bringHome(hub, hub.agent, [
      setThere(hub.agent, { name: 'line', value: 8, given: 7 }),
      setThere(hub.agent, { name: 'mode', value: 'manual', given: 'auto' }),
    ]);
    const first = (await readLocalEdits(hub.store.db))[0];
    const edit = await findLocalEdit(hub.store.db, first?.edit.slice(7, 15) ?? '');
    await refuseLocalEdit(hub, edit, { by: OTTO, now: NOW });
    expect(await decide(hub, { localEdits: 'refuse' })).toMatchObject([{ name: 'mode', outcome: 'refused' }]);
    const document = await valuesAtHub(hub);
    expect(document.values).toEqual({ line: 7, mode: 'auto' });
    expect(document.local?.['press-1']).toMatchObject({
      line: { outcome: 'refused', person: 'otto' },
      mode: { outcome: 'refused' },
    });
    const log = await auditLog(hub);
    expect(log.filter(([change]) => change === 'sites values refuse').map(([, person]) => person)).toEqual([
      'otto',
      null,
    ]);
  });

  it('is proposed where the review wants approvals under every rule, and the approval answers it', async () => {
    await using hub = await localHub();
    await bringHome(hub, hub.agent, [setThere(hub.agent, { name: 'line', value: 8 })]);
    const review = { ...ONE, localEdits: 'accept' as const };
    expect(await decide(hub, review)).toMatchObject([{ outcome: 'proposed' }]);
    expect(await decide(hub, review)).toMatchObject([{ outcome: 'proposed' }]);
    const [proposal, none] = await readProposals(hub.store.db, 'waiting');
    expect(none).toBeUndefined();
    expect(proposal?.row.person).toBe('anna at plant-7/press-1');
    const id = proposal?.row.id ?? '';
    const approving = { id, key: hub.bob, person: 'bob', reason: 'seen', now: NOW };
    expect((await approveValues(hub, approving, review)).applied).toHaveLength(1);
    expect(await valuesAtHub(hub)).toMatchObject({
      values: { line: 8 },
      local: { 'press-1': { line: { outcome: 'accepted' } } },
    });
    expect(await states(hub)).toEqual([['line', '8', 'accepted']]);
  });

  it('is refused with its proposal', async () => {
    await using hub = await localHub();
    await bringHome(hub, hub.agent, [setThere(hub.agent, { name: 'line', value: 8 })]);
    await decide(hub, ONE);
    const [proposal] = await readProposals(hub.store.db, 'waiting');
    await rejectValues(hub, proposal?.row.id ?? '', { person: 'bob', reason: 'inspected tomorrow' }, NOW);
    expect(await valuesAtHub(hub)).toMatchObject({
      values: {},
      local: { 'press-1': { line: { outcome: 'refused', person: 'bob' } } },
    });
    expect(await states(hub)).toEqual([['line', '8', 'refused']]);
    expect(await decide(hub, ONE)).toEqual([]);
  });

  it('waits with both values where the office changed it meanwhile, under every rule', async () => {
    await using hub = await localHub();
    await setAtOffice(hub, { line: 9 });
    await bringHome(hub, hub.agent, [setThere(hub.agent, { name: 'line', value: 8, given: 7 })]);
    for (const localEdits of ['accept', 'refuse'] as const) {
      const [decision] = await decide(hub, { localEdits });
      expect(decision).toMatchObject({ outcome: 'waiting' });
      expect(decision?.note).toBe('the office has changed it meanwhile, from 7 to 9; the site has 8');
    }
    expect((await readLocalEdits(hub.store.db))[0]?.note).toContain('from 7 to 9');
    const [edit] = await readLocalEdits(hub.store.db);
    if (edit) await acceptLocalEdit(hub, edit, { by: OTTO, now: NOW, review: undefined });
    expect((await valuesAtHub(hub)).values).toEqual({ line: 8 });
  });

  it('is no conflict where the office accepted an earlier edit of the same agent, or has the value already', async () => {
    await using hub = await localHub();
    await setAtOffice(hub, { line: 7, mode: 'manual' });
    const first = setThere(hub.agent, { name: 'line', value: 8, given: 7 });
    await bringHome(hub, hub.agent, [first]);
    await decide(hub, { localEdits: 'accept' });
    const more = [
      first,
      setThere(hub.agent, { name: 'line', value: 9, given: 7, old: 8 }, '2026-11-20T09:00:00Z'),
      setThere(hub.agent, { name: 'mode', value: 'manual', given: 'auto' }),
    ];
    await bringHome(hub, hub.agent, more, 2);
    expect(await decide(hub, { localEdits: 'accept' })).toMatchObject([
      { name: 'line', outcome: 'accepted' },
      { name: 'mode', outcome: 'accepted' },
    ]);
    expect((await valuesAtHub(hub)).values).toEqual({ line: 9, mode: 'manual' });
  });

  it('that the newest release does not admit, or no release asks for, waits with the reason', async () => {
    await using hub = await localHub();
    await release(hub, 3, { line: { type: 'integer', maximum: 7, 'x-editable-by': 'site' } });
    await bringHome(hub, hub.agent, [
      setThere(hub.agent, { name: 'line', value: 8 }),
      setThere(hub.agent, { name: 'mode', value: 'manual', given: 'auto' }),
    ]);
    const decisions = await decide(hub, { localEdits: 'accept' });
    expect(decisions.map(({ outcome }) => outcome)).toEqual(['waiting', 'waiting']);
    expect(decisions[0]?.note).toContain('does not fit');
  });
});

describe('a year of changes at a site without a network', () => {
  it('comes home with every change in order, and only the newest of each value is decided', async () => {
    await using hub = await localHub();
    const days = Array.from({ length: 365 }, (_, day) =>
      setThere(
        hub.agent,
        { name: 'line', value: (day % 40) + 1, given: 7, old: day === 0 ? 7 : ((day - 1) % 40) + 1 },
        // A clock that stands in 1970 or runs ahead orders nothing.
        day % 2 === 0 ? '1970-01-01T00:00:00Z' : '2031-01-01T00:00:00Z',
      ),
    );
    const happenings = [...days, setThere(hub.agent, { name: 'mode', value: 'x' }), unsetThere('mode')];
    const stick = await hub.stick('year');
    const lines = chain(hub.agent, happenings);
    // The later half arrives first.
    await report(stick, hub.agent, lines, 200);
    await hub.importFrom(stick);
    const other = await hub.stick('year-2');
    await report(other, hub.agent, lines, 1, 199);
    await hub.importFrom(other);
    const all = await readLocalEdits(hub.store.db);
    expect(all.map(({ seq }) => seq)).toEqual(happenings.map((_, index) => index + 1));
    expect(all.filter(({ state }) => state === 'superseded')).toHaveLength(364);
    expect(all.filter(({ state }) => state === 'waiting')).toMatchObject([{ seq: 365, value: '5' }]);
    expect(all[365]).toMatchObject({ name: 'mode', state: 'withdrawn' });
    // The same reports again change nothing.
    await hub.importFrom(stick);
    await hub.importFrom(other);
    expect(await readLocalEdits(hub.store.db)).toEqual(all);
  });
});

describe('a proposal of a value that the site changes again', () => {
  it('is rejected, and the newer one is proposed', async () => {
    await using hub = await localHub();
    const first = setThere(hub.agent, { name: 'line', value: 8 });
    await bringHome(hub, hub.agent, [first]);
    await decide(hub, ONE);
    const second = setThere(hub.agent, { name: 'line', value: 9, old: 8 }, '2026-11-20T09:00:00Z');
    await bringHome(hub, hub.agent, [first, second], 2);
    const [old] = await readProposals(hub.store.db, 'waiting');
    const approving = { id: old?.row.id ?? '', key: hub.bob, person: 'bob', reason: 'seen', now: NOW };
    await expect(approveValues(hub, approving, ONE)).rejects.toThrow(
      expect.objectContaining({ code: 'VALUES_CHANGED' }) as Error,
    );
    expect(await decide(hub, ONE)).toMatchObject([{ outcome: 'proposed' }]);
    const waiting = await readProposals(hub.store.db, 'waiting');
    expect(waiting.map(({ proposed }) => proposed.changes.map((one) => one.new))).toEqual([[9]]);
    expect(await states(hub)).toEqual([
      ['line', '8', 'superseded'],
      ['line', '9', 'waiting'],
    ]);
  });
});

describe('an agent that is revoked while it has local values', () => {
  it('ends them by name, and nothing of them is decided', async () => {
    await using hub = await localHub();
    await bringHome(hub, hub.agent, [setThere(hub.agent, { name: 'line', value: 8 })]);
    await revokeAgent(hub.store, hub.agent.id, await siteSigner(hub), NOW);
    expect(await decide(hub, { localEdits: 'accept' })).toEqual([]);
    expect(await readLocalEdits(hub.store.db)).toMatchObject([
      { state: 'ended', note: expect.stringContaining('revoked') as string },
    ]);
    expect((await valuesAtHub(hub)).values).toEqual({});
  });
});

describe('a kill -9 of the office', () => {
  it('between two answers leaves the rest for the next call', async () => {
    await using hub = await localHub();
    await bringHome(hub, hub.agent, [
      setThere(hub.agent, { name: 'line', value: 8 }),
      setThere(hub.agent, { name: 'mode', value: 'manual', given: 'auto' }),
    ]);
    let left = 1;
    const dying: ValuesHub = {
      ...hub,
      store: {
        ...hub.store,
        transact: async (work) => {
          if (left-- === 0) throw new Error('killed');
          return hub.store.transact(work);
        },
      },
    };
    await expect(decide(dying, { localEdits: 'accept' })).rejects.toThrow('killed');
    expect(await states(hub)).toEqual([
      ['line', '8', 'accepted'],
      ['mode', '"manual"', 'waiting'],
    ]);
    expect(await decide(hub, { localEdits: 'accept' })).toMatchObject([
      { name: 'mode', outcome: 'accepted' },
    ]);
    expect(await valuesAtHub(hub)).toMatchObject({ values: { line: 8, mode: 'manual' } });
  });
});

describe('an answer that the agent reports as taken', () => {
  it('is confirmed, and the value is local no longer', async () => {
    await using hub = await localHub();
    const set = setThere(hub.agent, { name: 'line', value: 8 });
    await bringHome(hub, hub.agent, [set]);
    await decide(hub, { localEdits: 'accept' });
    const ended = {
      type: 'local-value',
      detail: { action: 'accepted', name: 'line', edit: set.detail?.['edit'] ?? '' },
    };
    await bringHome(hub, hub.agent, [set, ended], 2);
    expect(await readLocalEdits(hub.store.db)).toMatchObject([{ state: 'accepted', confirmed: 1 }]);
    const [site] = await listSites(hub.store.db, hub.store.fleet);
    expect(site?.agents[0]?.local).toEqual([]);
  });
});

describe('a signer that asks for the decision', () => {
  it('N96: an answer that is in no decision -> SIGNER_REFUSED, and signs one that is in the audit log', async () => {
    await using hub = await localHub();
    await bringHome(hub, hub.agent, [setThere(hub.agent, { name: 'line', value: 8 })]);
    const { root } = hub.keys;
    using state = await openSignerState(join(hub.path, 'signer'));
    const signer = createSigner({
      roots: [root],
      root,
      keys: new Map([['release', hub.signedFleet.keys.release]]),
      authority: undefined,
      state,
      limits: DEFAULT_LIMITS,
      chain: [],
      values: { approvals: 0 },
      composeReleased: createComposeReleased(),
      clock: () => NOW,
      log: pino({ enabled: false }),
    });
    const own = await hub.keys.key('release');
    const sent = (evidence: readonly Uint8Array[]) => evidence.map((one) => Buffer.from(one));
    const remote: SigningKey = {
      public: own.public,
      judges: true,
      sign: (bytes, evidence = []) => signer.sign('release', Buffer.from(bytes), sent(evidence)),
    };
    const key: typeof hub.keys.key = async (role) => (role === 'release' ? remote : await hub.keys.key(role));
    const held = { ...hub, keys: { ...hub.keys, key } };
    await renewSites(held.store, await siteSigner(held), '2099-01-01T00:00:00Z', NOW);
    const edit = (await readLocalEdits(hub.store.db))[0]?.edit;
    if (!edit) throw new Error('nothing waits');
    const document = await valuesAtHub(hub);
    const answer = { edit, outcome: 'refused' } as const;
    const undecided = async () =>
      hub.store.transact(async (tx) =>
        issueSite(tx, 'plant-7', await siteSigner(held), NOW, {
          ...document,
          local: { 'press-1': { line: answer } },
        }),
      );
    expect(await verdict(undecided)).toBe('SIGNER_REFUSED');
    expect(await decide(held, { localEdits: 'refuse' })).toMatchObject([{ outcome: 'refused' }]);
    expect((await valuesAtHub(hub)).local).toMatchObject({ 'press-1': { line: answer } });
  });
});

describe('a forged report of a local value', () => {
  const refusals = ({ refused }: Awaited<ReturnType<typeof bringHome>>) =>
    refused.map(({ error }) => error.code);

  it('N95: signed by another key -> UNKNOWN_KEY', async () => {
    await using hub = await localHub();
    const thief = testAgent(hub.agent.id);
    const result = await bringHome(hub, thief, [setThere(thief, { name: 'line', value: 8 })]);
    expect(refusals(result)).toEqual(['UNKNOWN_KEY']);
    expect(await readLocalEdits(hub.store.db)).toEqual([]);
  });

  it('N95: about another agent -> REPORT_INVALID', async () => {
    await using hub = await localHub();
    const other = await enrolled(hub, 'plant-7/press-2');
    const lines = chain(other, [setThere(other, { name: 'line', value: 8 })]);
    // Signed by press-1, in the name of press-2, in the folder of press-1.
    const stick = await hub.stick('other');
    const forged = await reportOf({ ...other, key: hub.agent.key }, lines);
    await leave(stick, hub.agent, forged, 1, 1);
    expect(refusals(await hub.importFrom(stick))).toEqual(['REPORT_INVALID']);
    expect(await readLocalEdits(hub.store.db)).toEqual([]);
  });

  it('N95: imported again after the answer -> ACCEPT', async () => {
    await using hub = await localHub();
    const stick = await hub.stick('again');
    await report(stick, hub.agent, chain(hub.agent, [setThere(hub.agent, { name: 'line', value: 8 })]));
    await hub.importFrom(stick);
    await decide(hub, { localEdits: 'refuse' });
    const before = await valuesAtHub(hub);
    expect(await verdict(() => hub.importFrom(stick))).toBe('ACCEPT');
    expect(await decide(hub, { localEdits: 'accept' })).toEqual([]);
    expect(await valuesAtHub(hub)).toEqual(before);
  });
});

describe('a hub that kept the events before it knew local values', () => {
  it('reads them at its update', async () => {
    await using hub = await localHub();
    await bringHome(hub, hub.agent, [
      setThere(hub.agent, { name: 'line', value: 8 }),
      setThere(hub.agent, { name: 'line', value: 9, old: 8 }, '2026-11-20T09:00:00Z'),
      { type: 'local-value', detail: { action: 'set', name: 'line' } },
      setThere(hub.agent, { name: 'mode', value: 'manual' }),
      unsetThere('mode'),
    ]);
    const before = await readLocalEdits(hub.store.db);
    expect(before).toHaveLength(4);
    await hub.store.db.schema.dropTable('local_edit').execute();
    await addLocalEdits(hub.store.db as Kysely<unknown>);
    await hub.store.db.schema.alterTable('local_edit').addColumn('proposal', 'text').execute();
    expect(await readLocalEdits(hub.store.db)).toEqual(before);
  });
});
