import { describe, expect, it } from 'vitest';
import { createToken } from '../../../../../scheduler/hub/sites/tokens/create-token.ts';
import { redeemOnMedium } from '../../../../../scheduler/hub/sites/tokens/token-terms.ts';
import { ask, HOSTS, NOW, type TestHub, testAgent, testHub } from '../../test-hub.ts';

const tokenOf = async (hub: TestHub, site: string, agent: string, labels?: Record<string, string>) => {
  const order = { scope: 'enroll', site, agent, channel: HOSTS, labels, replaceKey: false } as const;
  const terms = { note: undefined, expires: new Date(NOW.getTime() + 3_600_000), now: NOW };
  return (await createToken(hub.store, order, terms)).token;
};
/** As the command does it: nobody is there to compare fingerprints. */
const enroll = (hub: TestHub, stick: string) =>
  hub.enroll(stick, { accept: [], redeem: redeemOnMedium(undefined, NOW) });
const labelsIn = async (hub: TestHub, id: string): Promise<unknown> => {
  const row = await hub.store.db.selectFrom('agent').selectAll().where('id', '=', id).executeTakeFirst();
  return row && (JSON.parse(row.labels) as unknown);
};

describe('a request on a medium with a one-time token', () => {
  it('is taken without a fingerprint, with the channel and labels of the token, and uses it up', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    const token = await tokenOf(hub, 'plant-7', 'press-1', { ring: 'canary' });
    const other = { environment: 'prod', clusterType: 'kiosk' };
    await ask(stick, testAgent('plant-7/press-1'), { token, channel: other, labels: { ring: 'all' } });
    const { sites, refused } = await enroll(hub, stick);
    expect(refused).toEqual([]);
    expect(sites[0]?.enrolments[0]?.step).toMatchObject({
      kind: 'register',
      row: { cluster_type: 'factory-host' },
    });
    expect(await labelsIn(hub, 'plant-7/press-1')).toEqual({ ring: 'canary' });
  });

  it('of a token that was used is refused by its name, and the others are taken', async () => {
    await using hub = await testHub();
    const [first, second] = [await hub.stick('first'), await hub.stick('second')];
    const token = await tokenOf(hub, 'plant-7', 'press-1');
    await ask(first, testAgent('plant-7/press-1'), { token });
    await enroll(hub, first);
    await ask(second, testAgent('plant-7/press-1'), { token });
    await ask(second, testAgent('plant-7/press-2'), { token: await tokenOf(hub, 'plant-7', 'press-2') });
    const { sites, refused } = await enroll(hub, second);
    expect(refused.map(({ error }) => error.message)).toEqual([
      expect.stringMatching(/^the token [0-9a-f]{12} was used on .* by plant-7\/press-1$/),
    ]);
    expect(sites.flatMap(({ enrolments }) => enrolments.map(({ request }) => request.id))).toEqual([
      'plant-7/press-2',
    ]);
  });

  it.each([
    ['plant-7/press-2', 'is for another agent than press-2'],
    ['plant-8/press-1', 'is for another site than plant-8'],
  ])('of another host, %s, is refused, and the token stays good for its own', async (id, sentence) => {
    await using hub = await testHub();
    const stick = await hub.stick();
    const token = await tokenOf(hub, 'plant-7', 'press-1');
    await ask(stick, testAgent(id), { token });
    expect((await enroll(hub, stick)).refused[0]?.error.message).toContain(sentence);
    const own = await hub.stick('own');
    await ask(own, testAgent('plant-7/press-1'), { token });
    expect((await enroll(hub, own)).refused).toEqual([]);
  });

  it('beside one without a token leaves that one for a person', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    await ask(stick, testAgent('plant-7/press-1'), { token: await tokenOf(hub, 'plant-7', 'press-1') });
    await ask(stick, testAgent('plant-7/press-2'));
    const { sites, left } = await enroll(hub, stick);
    expect(sites.flatMap(({ enrolments }) => enrolments.map(({ request }) => request.id))).toEqual([
      'plant-7/press-1',
    ]);
    expect(left.map(({ id }) => id)).toEqual(['plant-7/press-2']);
  });
});

describe('facts in a request', () => {
  it('become labels by the rules of the office, and go over those that the agent wishes', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    const ruled = { ...hub, factLabels: [{ label: 'arch', fact: 'architecture' }] };
    const facts = { architecture: 'arm64', serial: 'PX-1' };
    await ask(stick, testAgent('plant-7/press-1'), { facts, labels: { arch: 'amd64', ring: 'all' } });
    const { enrollMedium } = await import('../../../../../scheduler/hub/sites/enroll/enroll-medium.ts');
    const { openFiles } = await import('#bundles/formats/medium/open-files');
    await using medium = await openFiles(stick);
    await enrollMedium(
      ruled,
      medium,
      { accept: [], confirm: async () => true, replaceKey: false, update: false },
      NOW,
    );
    expect(await labelsIn(hub, 'plant-7/press-1')).toEqual({ arch: 'arm64', ring: 'all' });
  });

  it('that somebody changed on the medium refuse it', async () => {
    await using hub = await testHub();
    const stick = await hub.stick();
    const agent = testAgent('plant-7/press-1');
    await ask(stick, agent, { facts: { serial: 'PX-1' }, factsSignature: 'AAAA' });
    expect((await hub.enroll(stick)).refused.map(({ error }) => error.message)).toEqual([
      expect.stringMatching(/^the facts in .* are not signed by the key of its agent$/),
    ]);
  });
});
