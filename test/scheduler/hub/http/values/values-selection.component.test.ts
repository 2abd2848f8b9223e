import { describe, expect, test } from 'vitest';
import { setManyValues } from '../../../../../scheduler/hub/sites/set-many-values.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { valuesAt } from '../../../../../scheduler/hub/sites/values-at.ts';
import { HOSTS, NOW } from '../../test-hub.ts';
import { valuesServer, type ValuesServer } from './values-server.ts';

/** plant-7 is enrolled without labels: it is in no selection. */
const NORTH = 'selection?select=region%3Dnorth';

type Selection = {
  readonly sites: readonly { readonly site: string; readonly version: number; readonly refused: string[] }[];
  readonly unseen: number;
  readonly others: readonly string[];
  readonly values: readonly {
    readonly name: string;
    readonly others: readonly string[];
    readonly editable: boolean;
    readonly places: number;
    readonly given: readonly { readonly value: unknown; readonly places: number }[];
  }[];
};

const set = async ({ hub }: ValuesServer, person: string, site: string, values: Record<string, string>) => {
  const changes = [{ site, set: values, unset: [] }];
  await setManyValues(hub.store, {
    changes,
    signer: await siteSigner(hub),
    now: NOW,
    by: { person, reason: 'urgent' },
  });
};
const given = async ({ hub }: ValuesServer, site: string) =>
  (await valuesAt(hub.store.db, site))?.document.values ?? {};
/** The versions of the sites, as the form sends them. */
const seen = ({ sites }: Selection) => Object.fromEntries(sites.map(({ site, version }) => [site, version]));

/** plant-8 and plant-9, both of the same country. */
const inOneCountry = async (made: ValuesServer): Promise<string> => {
  await made.hub.store.db.updateTable('agent').set({ labels: '{"country":"no"}' }).execute();
  return 'selection?select=country%3Dno';
};

describe('the form of many sites', () => {
  test('has the values that agents with the labels take, how often each is given, and the agents that a value of the site reaches besides', async () => {
    await using made = await valuesServer();
    await set(made, 'ann', 'plant-8', { gate: '10.0.0.1', adminPassword: 'hunter2' });
    const ann = await made.caller('ann', 'values:*');
    const { body, text } = await ann.get('selection?select=region%3Dnorth%2Cline%3Da');
    const answer = body as Selection;
    expect(answer.sites).toMatchObject([{ site: 'plant-8', agents: ['press-1'], refused: [] }]);
    expect(answer.others).toEqual(['plant-8/press-2']);
    expect(answer.values.map(({ name, places, given: own }) => ({ name, places, own }))).toEqual([
      { name: 'adminPassword', places: 1, own: [{ value: 'withheld', places: 1 }] },
      { name: 'gate', places: 1, own: [{ value: '10.0.0.1', places: 1 }] },
      { name: 'line', places: 1, own: [] },
    ]);
    expect(text).not.toContain('hunter2');
    expect((await ann.get(`${NORTH}&agents=true`)).body).toMatchObject({
      sites: [{ site: 'plant-8', agents: ['press-1', 'press-2'] }],
      others: [],
      values: [{ places: 2 }, { places: 2 }, { places: 2 }],
    });
    expect(await ann.get('selection')).toMatchObject({ status: 400, body: { code: 'USAGE' } });
    expect(await ann.get('selection?select=region%3Dwest')).toMatchObject({ body: { code: 'SITE_MISSING' } });
  });

  test('previews all that it can: sites where the caller lacks the right are named', async () => {
    await using made = await valuesServer();
    const path = await inOneCountry(made);
    const rolf = await made.caller('rolf', 'read:*', 'values:site=plant-8:network');
    const answer = (await rolf.get(path)).body as Selection;
    expect(answer.values.map(({ name, editable }) => `${name} ${editable}`)).toEqual([
      'adminPassword false',
      'gate true',
      'line false',
    ]);
    expect(answer.sites.map(({ site, refused }) => `${site} ${refused.join(' ')}`)).toEqual([
      'plant-7 adminPassword gate line',
      'plant-8 adminPassword line',
      'plant-9 adminPassword gate line',
    ]);
    const change = { select: { country: 'no' }, set: { gate: '10.7.0.1' } };
    const previewed = (await rolf.post('preview', { ...change, sites: seen(answer) })).body;
    expect(previewed).toMatchObject({
      faults: [
        { site: 'plant-7', name: 'gate', code: 'TOKEN_SCOPE' },
        { site: 'plant-9', name: 'gate', code: 'TOKEN_SCOPE' },
      ],
    });
    expect(
      await rolf.post('changes', { ...change, sites: seen(answer), reason: 'new gateway' }),
    ).toMatchObject({
      status: 403,
    });
    // Without them it is made, at the one site that is left.
    const { 'plant-8': version } = seen(answer);
    const left = { ...change, sites: { 'plant-8': version }, reason: 'new gateway' };
    expect((await rolf.post('changes', left)).body).toMatchObject({
      outcome: 'made',
      sites: [{ site: 'plant-8' }],
    });
    expect(await given(made, 'plant-8')).toEqual({ gate: '10.7.0.1' });
    expect(await given(made, 'plant-9')).toEqual({});
  });

  test('H59: sites that the caller does not see are counted, and neither named nor changed', async () => {
    await using made = await valuesServer();
    const path = await inOneCountry(made);
    const ann = await made.caller('ann', 'values:site=plant-8');
    const found = await ann.get(path);
    expect(found.body).toMatchObject({ sites: [{ site: 'plant-8' }], unseen: 2 });
    expect(found.text).not.toContain('plant-9');
    for (const where of ['preview', 'changes']) {
      const all = await ann.post(where, { select: { country: 'no' }, set: { gate: 'x' }, reason: 'why' });
      expect(all.status).toBe(403);
      expect(all.text).not.toContain('plant-9');
    }
    expect(await given(made, 'plant-9')).toEqual({});
  });

  test('H62: an agent that the caller does not see is not named, nor its values, although its site is seen -> ACCEPT', async () => {
    await using made = await valuesServer();
    await setManyValues(made.hub.store, {
      changes: [{ site: 'plant-8', agent: 'press-2', set: { line: 'secret-line' }, unset: [] }],
      signer: await siteSigner(made.hub),
      now: NOW,
      by: { person: 'carl', reason: 'urgent' },
    });
    const ann = await made.caller('ann', 'values:line=a');
    const answer = await ann.get(`${NORTH}&agents=true`);
    expect(answer).toMatchObject({
      status: 200,
      body: {
        sites: [{ site: 'plant-8', agents: ['press-1'] }],
        values: [{ places: 1 }, { places: 1 }, { name: 'line', places: 1, given: [] }],
      },
    });
    expect(answer.text).not.toMatch(/press-2|secret-line/);
    const carl = await made.caller('carl', 'values:*');
    expect((await carl.get(`${NORTH}&agents=true`)).text).toContain('secret-line');
  });

  test('changes nothing at any site when one was changed, or left the selection, since the form was opened', async () => {
    await using made = await valuesServer();
    const path = await inOneCountry(made);
    const ann = await made.caller('ann', 'values:*');
    const answer = (await ann.get(path)).body as Selection;
    await set(made, 'carl', 'plant-9', { gate: '10.9.0.1' });
    const change = {
      select: { country: 'no' },
      set: { gate: '10.7.0.1' },
      sites: seen(answer),
      reason: 'new gateway',
    };
    const refused = await ann.post('changes', change);
    expect(refused).toMatchObject({ status: 409, body: { code: 'VALUES_CHANGED' } });
    expect(refused.text).toContain('carl changed the value gate of plant-9');
    expect((await ann.post('preview', change)).body).toMatchObject({
      faults: [{ site: 'plant-9', name: 'gate', code: 'VALUES_CHANGED' }],
    });
    expect(await given(made, 'plant-8')).toEqual({});

    await made.hub.store.db
      .updateTable('agent')
      .set({ labels: '{}' })
      .where('site', '=', 'plant-9')
      .execute();
    const gone = await ann.post('changes', { ...change, sites: { ...seen(answer), 'plant-9': 9 } });
    expect(gone.text).toContain('plant-9 has no agent with these labels any more');
    expect(await given(made, 'plant-8')).toEqual({});
  });

  test('names the channels whose release has another schema for a value', async () => {
    await using made = await valuesServer();
    const path = await inOneCountry(made);
    const channel = { ...HOSTS, clusterType: 'zone' };
    await made.hub.layoutWriter.release({
      channel,
      version: 1,
      bundles: [
        {
          kind: 'host',
          packages: { app: { 'package.json': '{}' } },
          siteInputs: { line: { type: 'string' }, gate: { type: 'string', 'x-editable-by': 'network' } },
        },
      ],
    });
    await made.hub.store.db
      .updateTable('agent')
      .set({ cluster_type: 'zone' })
      .where('site', '=', 'plant-9')
      .execute();
    const ann = await made.caller('ann', 'values:*');
    const answer = (await ann.get(path)).body as Selection;
    expect(answer.values.map(({ name, places, others }) => ({ name, places, others }))).toEqual([
      { name: 'adminPassword', places: 2, others: [] },
      { name: 'gate', places: 3, others: [] },
      { name: 'line', places: 3, others: ['prod/zone'] },
    ]);
    const change = { select: { country: 'no' }, set: { line: 7 }, sites: seen(answer) };
    expect((await ann.post('preview', change)).body).toMatchObject({
      faults: [{ site: 'plant-9', name: 'line', code: 'SITE_VALUES' }],
    });
  });
});
