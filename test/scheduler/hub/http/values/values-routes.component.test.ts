import { describe, expect, test } from 'vitest';
import { openLayout } from '#bundles/formats/layout/layout';
import { NO_PEOPLE } from '../../../../../scheduler/hub/people/people.ts';
import type { RoleRule } from '../../../../../scheduler/hub/people/role.ts';
import { createSession } from '../../../../../scheduler/hub/people/session.ts';
import { setManyValues } from '../../../../../scheduler/hub/sites/set-many-values.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { valuesAt } from '../../../../../scheduler/hub/sites/values-at.ts';
import { readAuditLog } from '../../../../../scheduler/load/releases/audit-log.ts';
import type { ValuesReview } from '../../../../../scheduler/settings/values-review.ts';
import { newSigningKey } from '../../../../harness/fleets/signed-fleet.ts';
import { NOW } from '../../test-hub.ts';
import { type ValuesCaller, valuesServer, type ValuesServer } from './values-server.ts';

const ONE: ValuesReview = { approvals: { required: 1, from: [], notAuthor: true }, roles: {} };
const change = (set: object, more: object = {}) => ({ site: 'plant-7', set, reason: 'why', ...more });
const valuesOf = async ({ hub }: ValuesServer, site = 'plant-7') => {
  const found = await valuesAt(hub.store.db, site);
  return { ...found?.document.values, ...found?.document.agents };
};
const codeOf = (answer: { readonly status: number; readonly body: never }) =>
  `${answer.status} ${(answer.body as { code?: string }).code ?? ''}`;
const refusedFor = async (caller: ValuesCaller, body: object): Promise<string> => {
  const previewed = codeOf(await caller.post('preview', body));
  const changed = codeOf(await caller.post('changes', body));
  expect(previewed).toBe(changed);
  return changed;
};

describe('the right to change values', () => {
  test('H59: of a site is for what editableBy grants there, and nothing else', async () => {
    await using made = await valuesServer();
    const ann = await made.caller('ann', 'values:site=plant-7:network');
    expect((await ann.post('changes', change({ gate: '10.0.0.1' }))).body).toMatchObject({ outcome: 'made' });
    expect(await valuesOf(made)).toEqual({ gate: '10.0.0.1' });
    for (const body of [
      change({ line: 3 }),
      change({ gate: 'x', line: 3 }),
      change({ gate: 'x' }, { site: 'plant-8' }),
      change({ gate: 'x' }, { site: 'plant-77' }),
      change({}, { unset: ['adminPassword'] }),
      { select: { region: 'north' }, set: { gate: 'x' }, reason: 'why' },
      { site: 'plant-8', agent: 'press-1', set: { gate: 'x' }, reason: 'why' },
    ])
      expect(await refusedFor(ann, body)).toBe('403 TOKEN_SCOPE');
    expect(await valuesOf(made)).toEqual({ gate: '10.0.0.1' });
    expect(await valuesOf(made, 'plant-8')).toEqual({});
    // The form says the same.
    const form = (await ann.get('sites/plant-7')).body as {
      places: { values: { name: string; editable: boolean }[] }[];
    };
    expect(form.places[0]?.values.map(({ name, editable }) => `${name} ${editable}`)).toEqual([
      'adminPassword false',
      'gate true',
      'line false',
    ]);
    expect(codeOf(await ann.get('sites/plant-8'))).toBe('403 TOKEN_SCOPE');
    expect(codeOf(await ann.get('sites/plant-77'))).toBe('403 TOKEN_SCOPE');
    expect(codeOf(await ann.get('sites/plant-8/versions'))).toBe('403 TOKEN_SCOPE');
    expect((await ann.get('tree')).body).toMatchObject({ total: 1, sites: [{ site: 'plant-7' }] });
    // Nothing else of the hub.
    expect(codeOf(await ann.get('/v1/status'))).toBe('403 TOKEN_SCOPE');
    expect(codeOf(await ann.post('/v1/environments/prod/pause', { reason: 'x' }))).toMatch(/^40[34]/);
  });

  test('H59: of a line does not cover the values of the site, which reach all lines', async () => {
    await using made = await valuesServer();
    const lina = await made.caller('lina', 'values:line=a');
    const own = { site: 'plant-8', agent: 'press-1', set: { line: 4 }, reason: 'why' };
    expect((await lina.post('changes', own)).body).toMatchObject({ outcome: 'made' });
    expect(await refusedFor(lina, { ...own, agent: 'press-2' })).toBe('403 TOKEN_SCOPE');
    expect(await refusedFor(lina, change({ line: 4 }, { site: 'plant-8' }))).toBe('403 TOKEN_SCOPE');
    const form = (await lina.get('sites/plant-8')).body as {
      places: { agent: string | null; values: { editable: boolean }[] }[];
    };
    expect(
      form.places.map(({ agent, values }) => `${agent} ${values.every(({ editable }) => editable)}`),
    ).toEqual(['null false', 'press-1 true']);
    const both = await made.caller('kim', 'values:line=a', 'values:line=b');
    expect((await both.post('changes', change({ line: 5 }, { site: 'plant-8' }))).body).toMatchObject({
      outcome: 'made',
    });
  });

  test('of a region is for all its sites at once', async () => {
    await using made = await valuesServer();
    const rolf = await made.caller('rolf', 'values:region=north');
    const body = { select: { region: 'north' }, set: { gate: 'n' }, reason: 'new gateway' };
    expect((await rolf.post('preview', body)).body).toMatchObject({
      sites: [
        {
          site: 'plant-8',
          changes: [{ agent: null, name: 'gate', new: 'n' }],
          packages: [
            { agent: 'press-1', assignment: 'app', names: ['gate'] },
            { agent: 'press-2', assignment: 'app', names: ['gate'] },
          ],
        },
      ],
      faults: [],
    });
    expect(await valuesOf(made, 'plant-8')).toEqual({});
    expect((await rolf.post('changes', body)).body).toMatchObject({
      outcome: 'made',
      sites: [{ site: 'plant-8' }],
    });
    expect(made.changes()).toBe(1);
    expect(await refusedFor(rolf, { ...body, select: { region: 'south' } })).toBe('403 TOKEN_SCOPE');
  });

  test('is not given to readers, who see the values with secrets withheld', async () => {
    await using made = await valuesServer();
    const admin = await made.caller('ada', 'values:*');
    await admin.post('changes', change({ line: 7, adminPassword: 'hunter2' }));
    const reader = await made.reader();
    const answers = [
      await reader.get('sites/plant-7'),
      await reader.get('sites/plant-7/versions'),
      await admin.get('sites/plant-7'),
      await admin.post('preview', change({ adminPassword: 'hunter3' })),
    ];
    for (const answer of answers) {
      expect(answer.status).toBe(200);
      expect(answer.text).toContain('withheld');
      expect(answer.text).not.toContain('hunter');
    }
    expect(await refusedFor(reader, change({ line: 8 }))).toBe('403 TOKEN_SCOPE');
    expect(codeOf(await reader.get('sites/plant-77'))).toBe('400 SITE_MISSING');
    expect(codeOf(await (await made.reader('qa')).get('sites/plant-7'))).toBe('403 TOKEN_SCOPE');
    expect((await (await made.reader('qa')).get('tree')).body).toMatchObject({ total: 0, sites: [] });
    expect((await (await made.reader('prod')).get('sites/plant-7')).status).toBe(200);
    const wait = await made.caller('ci', 'wait:*');
    expect(codeOf(await wait.get('tree'))).toBe('403 TOKEN_SCOPE');
  });

  test('of a person who signed in is that of the role editor, and a write needs the token against CSRF', async () => {
    const roles: readonly RoleRule[] = [
      { role: 'editor', people: ['ann@example.com'], sites: { site: 'plant-7' }, editableBy: ['network'] },
    ];
    await using made = await valuesServer(undefined, { people: { ...NO_PEOPLE, roles } });
    const { secret, row } = await made.hub.store.transact((tx) =>
      createSession(tx, {
        kind: 'oidc',
        issuer: 'https://login.example',
        subject: 'a-1',
        person: 'ann@example.com',
        groups: '[]',
        token: null,
        endsAt: new Date(NOW.getTime() + 3_600_000),
        now: NOW,
      }),
    );
    const post = async (body: object, headers: Record<string, string>) =>
      made.server.inject({
        method: 'POST',
        url: '/v1/values/changes',
        headers: { cookie: `__Host-fleet-session=${secret}`, ...headers },
        payload: body,
      });
    const csrf = { 'x-fleet-csrf': row.csrf };
    expect((await post(change({ gate: 'x' }), {})).json()).toMatchObject({ code: 'CROSS_SITE' });
    expect(
      (await post(change({ gate: 'x' }), { ...csrf, origin: 'https://evil.example' })).json(),
    ).toMatchObject({
      code: 'CROSS_SITE',
    });
    expect((await post(change({ line: 1 }), csrf)).json()).toMatchObject({ code: 'ROLE_MISSING' });
    expect((await post(change({ gate: 'x' }), csrf)).json()).toMatchObject({ outcome: 'made' });
    const [gate] = (await valuesAt(made.hub.store.db, 'plant-7'))?.values ?? [];
    expect(gate).toMatchObject({ person: 'ann@example.com (OIDC login.example)', reason: 'why' });
  });
});

describe('a change of values by the API', () => {
  test('names each value that does not fit, and makes nothing of it', async () => {
    await using made = await valuesServer();
    const ada = await made.caller('ada', 'values:*');
    const wrong = change({ line: 0, gate: 5, colour: 'red', adminPassword: 'p' });
    const { faults, sites } = (await ada.post('preview', wrong)).body as {
      faults: { name: string; code: string; message: string }[];
      sites: object[];
    };
    expect(faults.map(({ name, code }) => `${name} ${code}`)).toEqual([
      'line SITE_VALUES',
      'gate SITE_VALUES',
      'colour SITE_VALUES',
    ]);
    expect(faults[0]?.message).toContain('must be >= 1');
    expect(sites).toMatchObject([{ site: 'plant-7', changes: [{ name: 'adminPassword' }] }]);
    expect(codeOf(await ada.post('changes', wrong))).toBe('400 SITE_VALUES');
    expect(await valuesOf(made)).toEqual({});
    expect(codeOf(await ada.post('changes', { site: 'plant-7', set: { line: 1 } }))).toBe('400 USAGE');
    for (const body of [
      {},
      { set: { line: 1 } },
      { site: 'plant-7' },
      { site: 'plant-7', select: { region: 'north' }, set: { line: 1 } },
      { site: 'plant-7', set: { line: 1 }, unset: ['line'] },
      { site: 'plant-7', to: 1, set: { line: 1 } },
    ])
      expect(codeOf(await ada.post('preview', body))).toBe('400 USAGE');
    expect(codeOf(await ada.post('preview', { site: 'plant-7', set: { 'a b': 1 } }))).toBe('400 SCHEMA');
  });

  test('is refused where somebody else changed the value since the form was opened, with the name', async () => {
    await using made = await valuesServer();
    const ada = await made.caller('ada', 'values:*');
    const { version } = (await ada.get('sites/plant-7')).body as { version: number };
    const signer = await siteSigner(made.hub);
    const by = { person: 'carl', reason: 'urgent' };
    const changes = [{ site: 'plant-7', set: { line: 9 }, unset: [] }];
    await setManyValues(made.hub.store, { changes, signer, now: NOW, by });
    const { faults } = (await ada.post('preview', change({ line: 8 }, { version }))).body as {
      faults: object[];
    };
    expect(faults).toMatchObject([
      {
        name: 'line',
        code: 'VALUES_CHANGED',
        message: expect.stringMatching(/^carl changed the value line/) as string,
      },
    ]);
    expect((await ada.post('changes', change({ line: 8 }, { version }))).body).toMatchObject({
      code: 'VALUES_CHANGED',
      detail: expect.stringMatching(/^carl changed the value line of plant-7 at/) as string,
    });
    expect(await valuesOf(made)).toEqual({ line: 9 });
    // Another value of the site is not concerned.
    expect((await ada.post('changes', change({ gate: 'x' }, { version }))).body).toMatchObject({
      outcome: 'made',
    });
  });

  test('that is repeated with its key is made once', async () => {
    await using made = await valuesServer();
    const ada = await made.caller('ada', 'values:*');
    const key = { 'idempotency-key': 'k1' };
    const first = await ada.post('changes', change({ line: 7 }), key);
    await ada.post('changes', change({ line: 8 }));
    expect((await ada.post('changes', change({ line: 7 }), key)).body).toEqual(first.body);
    expect(await valuesOf(made)).toEqual({ line: 8 });
  });

  test('is undone by going back to a version, which is a decision, too', async () => {
    await using made = await valuesServer();
    const ada = await made.caller('ada', 'values:*');
    await ada.post('changes', change({ line: 7, gate: 'a' }));
    await ada.post('changes', change({ line: 8 }, { unset: ['gate'] }));
    const { versions } = (await ada.get('sites/plant-7/versions')).body as {
      versions: { version: number; changes: object[] }[];
    };
    expect(versions[0]?.changes).toEqual([
      { agent: null, name: 'gate', old: 'a' },
      { agent: null, name: 'line', old: 7, new: 8 },
    ]);
    const back = { site: 'plant-7', to: versions[1]?.version, reason: 'wrong line' };
    expect((await ada.post('preview', back)).body).toMatchObject({
      sites: [
        {
          changes: [
            { name: 'gate', new: 'a' },
            { name: 'line', old: 8, new: 7 },
          ],
        },
      ],
    });
    expect((await ada.post('changes', back)).body).toMatchObject({ outcome: 'made' });
    expect(await valuesOf(made)).toEqual({ line: 7, gate: 'a' });
    // An editor of the network may not take back what is not theirs.
    const ann = await made.caller('ann', 'values:site=plant-7:network');
    expect(await refusedFor(ann, { ...back, to: versions[0]?.version })).toBe('403 TOKEN_SCOPE');
    expect(codeOf(await ada.post('preview', { ...back, to: 99 }))).toBe('400 USAGE');
    const { entries } = await readAuditLog(await openLayout(made.hub.layout), made.hub.keys.roots);
    expect(
      entries.flatMap(({ predicate }) =>
        'change' in predicate ? [`${predicate.change} ${predicate.person}`] : [],
      ),
    ).toEqual(expect.arrayContaining(['sites set ada', 'sites values rollback ada']));
  });
});

describe('a change of values that needs approval', () => {
  const propose = async (made: ValuesServer, set: object = { gate: '10.0.0.1' }) => {
    const ann = await made.caller('ann', 'values:site=plant-7:network');
    const answer = await ann.post('changes', change(set));
    return { ann, answer, id: (answer.body as { proposal: string }).proposal };
  };

  test('is proposed, shown with a diff, and made once another person has signed', async () => {
    await using made = await valuesServer(ONE);
    const { ann, answer, id } = await propose(made);
    expect(answer.body).toMatchObject({ outcome: 'proposed', sites: [] });
    expect(await valuesOf(made)).toEqual({});
    const boss = await made.caller('boss', 'approve:prod');
    expect((await boss.get('proposals')).body).toMatchObject({
      proposals: [
        {
          id,
          person: 'ann',
          reason: 'why',
          rejectable: false,
          changes: [{ site: 'plant-7', agent: null, name: 'gate', new: '10.0.0.1' }],
          conditions: [{ name: 'approvals', met: false }],
        },
      ],
    });
    const key = made.hub.bob;
    expect(codeOf(await made.approve(ann, id, { person: 'ann', key }))).toBe('400 USAGE');
    expect(codeOf(await made.approve(boss, id, { person: 'bob', key: newSigningKey() }))).toBe(
      '400 UNKNOWN_KEY',
    );
    expect((await made.approve(boss, id, { person: 'bob', key })).body).toMatchObject({
      outcome: 'made',
      person: 'bob',
      sites: [{ site: 'plant-7' }],
    });
    expect(await valuesOf(made)).toEqual({ gate: '10.0.0.1' });
    expect((await boss.get('proposals')).body).toMatchObject({ proposals: [] });
    expect(codeOf(await made.approve(boss, id, { person: 'bob', key }))).toBe('404 NOTHING_AWAITING');
  });

  test('is seen, approved and rejected by nobody without a right there', async () => {
    await using made = await valuesServer(ONE);
    const { ann, id } = await propose(made);
    for (const stranger of [
      await made.caller('zoe', 'values:site=plant-8'),
      await made.caller('qa', 'approve:qa'),
      await made.caller('op', 'values:site=plant-9:network'),
    ]) {
      expect((await stranger.get('proposals')).body).toMatchObject({ proposals: [] });
      expect(codeOf(await made.approve(stranger, id, { person: 'bob', key: made.hub.bob }))).toBe(
        '404 NOTHING_AWAITING',
      );
      expect(codeOf(await stranger.post('rejections', { proposal: id, reason: 'no' }))).toBe(
        '404 NOTHING_AWAITING',
      );
    }
    const reader = await made.reader();
    expect((await reader.get('proposals')).body).toMatchObject({ proposals: [{ id, rejectable: false }] });
    expect(codeOf(await reader.post('rejections', { proposal: id, reason: 'no' }))).toBe('403 TOKEN_SCOPE');
    const other = await made.caller('carl', 'values:site=plant-7');
    expect((await other.post('preview', change({ gate: 'y' }))).body).toMatchObject({
      faults: [
        { name: 'gate', code: 'VALUES_CHANGED', message: expect.stringMatching(/^ann proposed/) as string },
      ],
    });
    expect(codeOf(await other.post('changes', change({ gate: 'y' })))).toBe('409 VALUES_CHANGED');
    expect((await ann.post('rejections', { proposal: id, reason: 'withdrawn' })).body).toMatchObject({
      person: 'ann',
    });
    expect((await reader.get('proposals')).body).toMatchObject({ proposals: [] });
    expect((await other.post('changes', change({ gate: 'y' }))).body).toMatchObject({ outcome: 'proposed' });
  });
});
