import { join } from 'node:path';
import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import { addDays } from '#bundles/time';
import { fingerprint, type SigningKey } from '#bundles/trust/keys/key';
import { appendChanges } from '../../../../../scheduler/hub/changes/append-changes.ts';
import { approveValues, rejectValues } from '../../../../../scheduler/hub/promote/values/approve-values.ts';
import { judgeProposal } from '../../../../../scheduler/hub/promote/values/judge-proposal.ts';
import {
  findProposal,
  proposeValues,
  readProposals,
} from '../../../../../scheduler/hub/promote/values/propose-values.ts';
import { rulesFor } from '../../../../../scheduler/hub/promote/values/rules-for.ts';
import { renewSites } from '../../../../../scheduler/hub/sites/renew-sites.ts';
import { setManyValues } from '../../../../../scheduler/hub/sites/set-many-values.ts';
import type { ValueChange } from '../../../../../scheduler/hub/sites/set-values.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { valuesAt } from '../../../../../scheduler/hub/sites/values-at.ts';
import { openStore } from '../../../../../scheduler/hub/store/open-store.ts';
import { DEFAULT_LIMITS } from '../../../../../scheduler/keys/signer/limits.ts';
import { createSigner } from '../../../../../scheduler/keys/signer/signer.ts';
import { openSignerState } from '../../../../../scheduler/keys/signer/state/open-state.ts';
import { createComposeReleased } from '../../../../../scheduler/plan/compose/compose-released.ts';
import { readAuditLog } from '../../../../../scheduler/load/releases/audit-log.ts';
import type { ValuesReview } from '../../../../../scheduler/settings/values-review.ts';
import { newSigningKey } from '../../../../harness/fleets/signed-fleet.ts';
import { NOW } from '../../test-hub.ts';
import { INPUTS, release, type ValuesHub, valuesHub } from './values-hub.ts';

const approvals = (required: number, from: readonly string[] = []) => ({ required, from, notAuthor: true });
const ONE: ValuesReview = { approvals: approvals(1), roles: {} };
const PLANT = { site: 'plant-7', unset: [] };

const as = (hub: ValuesHub, person: string, reason: string | null = 'why'): ValuesHub => ({
  ...hub,
  store: { ...hub.store, by: { person, reason } },
});

const propose = async (hub: ValuesHub, person: string, set: ValueChange['set'], now = NOW) => {
  const proposal = await proposeValues(as(hub, person), [{ ...PLANT, set }], {
    now,
    allowUnknown: false,
  });
  if (!proposal) throw new Error('nothing differs');
  return proposal;
};

const approve = (
  hub: ValuesHub,
  id: string,
  { by = hub.bob, person = 'bob', review = ONE, now = NOW } = {},
) => approveValues(hub, { id, key: by, person, reason: 'looked', now }, review);

const valuesNow = async (hub: ValuesHub) => (await valuesAt(hub.store.db, 'plant-7'))?.document.values;
const verdict = (work: Promise<unknown>) =>
  work.then(
    () => 'done',
    (error: { code?: string; message: string }) => `${error.code}: ${error.message}`,
  );

describe('a change of values that needs an approval', () => {
  it('waits until another person approves it with their own key, and is made then', async () => {
    await using hub = await valuesHub();
    const { row } = await propose(hub, 'ann', { line: 7 });
    expect(await valuesNow(hub)).toEqual({});
    expect(await verdict(approve(hub, row.id, { person: 'ann' }))).toMatch(
      /^USAGE: ann proposed .*the author of a change cannot/,
    );
    const { applied } = await approve(hub, row.id);
    expect(applied).toMatchObject([{ name: 'plant-7', version: 2 }]);
    const now = await valuesAt(hub.store.db, 'plant-7');
    expect(now?.values).toMatchObject([
      { name: 'line', value: 7, person: 'ann', reason: expect.stringContaining('approved by bob') as string },
    ]);
    expect(await readProposals(hub.store.db, 'waiting')).toEqual([]);
    expect(await verdict(approve(hub, row.id))).toMatch(/^NOTHING_AWAITING/);
    await appendChanges(hub, { command: 'test', now: NOW });
    const { entries } = await readAuditLog(await openLayout(hub.layout), hub.keys.roots);
    expect(
      entries.map(({ kind, predicate }) => [kind, 'change' in predicate ? predicate.change : '']),
    ).toEqual(
      expect.arrayContaining([
        ['approval', ''],
        ['change', 'sites values propose'],
        ['change', 'sites set'],
      ]),
    );
  });

  it('counts keys, and only those that the rule of its role names', async () => {
    await using hub = await valuesHub();
    const review = { approvals: undefined, roles: { network: approvals(1, [fingerprint(hub.eve.public)]) } };
    const of = (name: string) => rulesFor(hub, review, [{ site: 'plant-7', agent: null, name }]);
    expect(await of('line')).toEqual([]);
    expect(await of('gate')).toMatchObject([{ role: 'network' }]);
    const { row } = await propose(hub, 'ann', { gate: '10.0.0.1' });
    const first = await approve(hub, row.id, { review });
    expect(first.applied).toBeUndefined();
    expect(first.conditions).toMatchObject([
      {
        name: 'approvals of role network',
        met: false,
        holding: { first: [expect.stringMatching(/^bob: the key/)] },
      },
    ]);
    expect((await approve(hub, row.id, { by: hub.eve, person: 'eve', review })).applied).toHaveLength(1);
    const two = await propose(hub, 'ann', { line: 3 });
    const both = { approvals: approvals(2), roles: {} };
    await approve(hub, two.row.id, { review: both });
    expect((await approve(hub, two.row.id, { review: both, now: addDays(NOW, 1) })).applied).toBeUndefined();
    expect(await verdict(approve(hub, two.row.id, { by: newSigningKey(), review: both }))).toMatch(
      /^UNKNOWN_KEY/,
    );
  });

  it('outlives a restart of the hub', async () => {
    await using hub = await valuesHub();
    const { row } = await propose(hub, 'ann', { line: 7 });
    await using store = await openStore(hub.db, hub.store.fleet, { by: { person: 'bob', reason: null } });
    const again = { ...hub, store };
    expect(
      (await judgeProposal(again, await findProposal(store.db, row.id.slice(7, 15)), ONE)).conditions,
    ).toMatchObject([{ met: false }]);
    expect((await approve(again, row.id)).applied).toHaveLength(1);
  });

  it('that another person edits already is refused with that name, also when a value changed meanwhile', async () => {
    await using hub = await valuesHub();
    const { row } = await propose(hub, 'ann', { line: 7 });
    expect(await verdict(propose(hub, 'carl', { line: 8 }))).toMatch(
      /^VALUES_CHANGED: ann proposed another value line of plant-7/,
    );
    await propose(hub, 'carl', { gate: 'x' });
    const signer = await siteSigner(hub);
    const by = { person: 'dora', reason: 'urgent' };
    await setManyValues(hub.store, { changes: [{ ...PLANT, set: { line: 9 } }], signer, now: NOW, by });
    expect(await verdict(approve(hub, row.id))).toMatch(
      /^VALUES_CHANGED: dora changed the value line of plant-7 at .*, after ann proposed this/,
    );
    expect(await valuesNow(hub)).toEqual({ line: 9 });
    await rejectValues(hub, row.id, { person: 'ann', reason: 'dora was first' }, NOW);
    expect((await propose(hub, 'carl', { line: 8 })).row.state).toBe('waiting');
  });

  it('is judged again by the release of the day when it is made', async () => {
    await using hub = await valuesHub();
    const { row } = await propose(hub, 'ann', { line: 7 });
    await release(hub, 2, { ...INPUTS, line: { type: 'string' } });
    expect(await verdict(approve(hub, row.id))).toMatch(/^SITE_VALUES: .*line must be string/);
    expect(await valuesNow(hub)).toEqual({});
    expect(await readProposals(hub.store.db, 'waiting')).toHaveLength(1);
  });

  it('that does not count as approval of a candidate, by its subject in the log', async () => {
    await using hub = await valuesHub();
    const { row } = await propose(hub, 'ann', { line: 7 });
    await approve(hub, row.id, { review: { approvals: approvals(2), roles: {} } });
    const { entries } = await readAuditLog(await openLayout(hub.layout), hub.keys.roots);
    const [entry] = entries.filter(({ kind }) => kind === 'approval');
    expect(entry?.predicate).toMatchObject({
      about: 'site-values',
      shared: row.id,
      critical: ['approvalSiteValues'],
    });
  });
});

it('a signer that asks for approvals signs what was approved, and nothing else', async () => {
  await using hub = await valuesHub();
  const { root } = hub.keys;
  const folder = join(hub.path, 'signer');
  using state = await openSignerState(folder);
  const signer = createSigner({
    roots: [root],
    root,
    keys: new Map([['release', hub.signedFleet.keys.release]]),
    authority: undefined,
    state,
    limits: DEFAULT_LIMITS,
    chain: [],
    composeReleased: createComposeReleased(),
    values: { approvals: 1 },
    clock: () => NOW,
    log: pino({ enabled: false }),
  });
  const own = await hub.keys.key('release');
  const remote: SigningKey = {
    public: own.public,
    judges: true,
    sign: (bytes, evidence = []) =>
      signer.sign(
        'release',
        Buffer.from(bytes),
        evidence.map((one) => Buffer.from(one)),
      ),
  };
  const key: typeof hub.keys.key = async (role) => (role === 'release' ? remote : await hub.keys.key(role));
  const held = { ...hub, keys: { ...hub.keys, key } };
  await renewSites(held.store, await siteSigner(held), '2099-01-01T00:00:00Z', NOW);
  const direct = setManyValues(hub.store, {
    changes: [{ ...PLANT, set: { line: 7 } }],
    signer: await siteSigner(held),
    now: NOW,
    by: { person: 'eve', reason: null },
  });
  expect(await verdict(direct)).toMatch(/^APPROVAL_MISSING/);
  expect(await valuesNow(hub)).toEqual({});
  const { row } = await propose(held, 'ann', { line: 7, adminPassword: 'hunter2' });
  expect((await approve(held, row.id)).applied).toHaveLength(1);
  expect(await valuesNow(hub)).toEqual({ line: 7, adminPassword: 'hunter2' });
});
