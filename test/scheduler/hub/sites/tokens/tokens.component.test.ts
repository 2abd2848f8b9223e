import { describe, expect, test } from 'vitest';
import { FleetError } from '#bundles/errors';
import { addDays, formatTime } from '#bundles/time';
import { createCertificateRequest } from '#bundles/trust/root/certificate-request';
import { checkRequest } from '../../../../../scheduler/hub/sites/enroll/read-requests.ts';
import {
  formatAllowance,
  isAllowed,
  parseAllowance,
  type Verb,
} from '../../../../../scheduler/hub/sites/tokens/allowance.ts';
import { checkCaller, checkToken } from '../../../../../scheduler/hub/sites/tokens/check-token.ts';
import { createToken, type TokenRequest } from '../../../../../scheduler/hub/sites/tokens/create-token.ts';
import { listTokens, revokeToken } from '../../../../../scheduler/hub/sites/tokens/list-tokens.ts';
import { redeemToken } from '../../../../../scheduler/hub/sites/tokens/redeem-token.ts';
import { FLEET, HOSTS, NOW, type TestAgent, type TestHub, testAgent, testHub } from '../../test-hub.ts';

type EnrolOrder = TokenRequest & { scope: 'enroll' };

const enrolling = (changes: Partial<EnrolOrder> = {}): TokenRequest => ({
  scope: 'enroll',
  site: 'plant-7',
  replaceKey: false,
  ...changes,
});

const create = (hub: TestHub, order: TokenRequest = enrolling(), expires = addDays(NOW, 1)) =>
  createToken(hub.store, order, { note: undefined, expires, now: NOW });

const requestOf = async (agent: TestAgent) =>
  checkRequest(
    {
      fleet: FLEET,
      site: agent.site,
      agent: agent.name,
      channel: HOSTS,
      labels: {},
      request: await createCertificateRequest(
        { fleet: FLEET, site: agent.site, agent: agent.name },
        agent.key,
      ),
      at: formatTime(NOW),
    },
    'the request',
    FLEET,
    'network',
  );

const redeem = async (hub: TestHub, token: unknown, agent: TestAgent, now = NOW) => {
  const request = await requestOf(agent);
  return hub.store.transact((tx) => redeemToken(tx, token, request, now));
};

const invalid = (message: RegExp) => ({ code: 'TOKEN_INVALID', message: expect.stringMatching(message) });

test('a token is random with a prefix for its scope, and only its hash is stored', async () => {
  await using hub = await testHub();
  const [one, two] = [await create(hub), await create(hub, { scope: 'reader' })];
  expect(one.token).toMatch(/^ffe_[A-Za-z0-9_-]{32}$/);
  expect(two.token).toMatch(/^ffr_[A-Za-z0-9_-]{32}$/);
  const rows = JSON.stringify(await hub.store.db.selectFrom('token').selectAll().execute());
  for (const { token } of [one, two]) expect(rows).not.toContain(token.slice(4));
});

test('I11: a token that was made while a clock was years ahead does not count for years', async () => {
  await using hub = await testHub();
  const ahead = addDays(NOW, 1500);
  for (const order of [enrolling(), { scope: 'reader' }, { scope: 'break-glass', person: 'mara' }] as const) {
    const made = { note: undefined, expires: addDays(ahead, 1), now: ahead };
    const { token } = await createToken(hub.store, order, made);
    await expect(checkToken(hub.store.db, token, order.scope, NOW)).rejects.toMatchObject(
      invalid(/was ahead/),
    );
    expect(await checkToken(hub.store.db, token, order.scope, ahead)).toMatchObject({ scope: order.scope });
  }
});

describe('a token for enrolment', () => {
  test('H9: is used once', async () => {
    await using hub = await testHub();
    const { token, row } = await create(hub);
    expect(await redeem(hub, token, testAgent('plant-7/one'))).toMatchObject({ id: row.id });
    await expect(redeem(hub, token, testAgent('plant-7/two'))).rejects.toMatchObject(invalid(/was used on/));
  });

  test('H9: may be shown again by the same agent with the same key, because answers get lost', async () => {
    await using hub = await testHub();
    const { token } = await create(hub);
    const agent = testAgent('plant-7/one');
    await redeem(hub, token, agent);
    await redeem(hub, token, agent);
    await expect(redeem(hub, token, testAgent('plant-7/one'))).rejects.toMatchObject(invalid(/was used on/));
    await expect(redeem(hub, token, testAgent('plant-7/two', agent.key))).rejects.toMatchObject(
      invalid(/was used on/),
    );
    await expect(redeem(hub, token, agent, addDays(NOW, 2))).rejects.toMatchObject(invalid(/ended on/));
  });

  test('is unused again when its enrolment fails', async () => {
    await using hub = await testHub();
    const { token } = await create(hub);
    const request = await requestOf(testAgent('plant-7/one'));
    await expect(
      hub.store.transact(async (tx) => {
        await redeemToken(tx, token, request, NOW);
        throw new Error('and then the power went');
      }),
    ).rejects.toThrow('the power went');
    await redeem(hub, token, testAgent('plant-7/two'));
  });

  test('H9: is for its site, and for its agent where it names one', async () => {
    await using hub = await testHub();
    const { token } = await create(hub);
    await expect(redeem(hub, token, testAgent('plant-8/one'))).rejects.toMatchObject(invalid(/another site/));
    const named = await create(hub, enrolling({ agent: 'one' }));
    await expect(redeem(hub, named.token, testAgent('plant-7/two'))).rejects.toMatchObject(
      invalid(/another agent/),
    );
    await redeem(hub, named.token, testAgent('plant-7/one'));
  });

  test.each([
    ['a guess', `ffe_${'a'.repeat(32)}`],
    ['nothing', undefined],
    ['an object', { token: 'ffe_' }],
    ['a long text', `ffe_${'a'.repeat(10_000)}`],
    ['SQL', "ffe_' OR 1=1 --"],
  ])('H9: is not known when it is %s', async (_, token) => {
    await using hub = await testHub();
    await create(hub);
    await expect(redeem(hub, token, testAgent('plant-7/one'))).rejects.toMatchObject(
      invalid(/not known here/),
    );
  });

  test('H9: is not known to the hub of another fleet', async () => {
    await using hub = await testHub();
    await using other = await testHub();
    const { token } = await create(other);
    await expect(redeem(hub, token, testAgent('plant-7/one'))).rejects.toMatchObject(
      invalid(/not known here/),
    );
  });
});

test('a token is valid for its scope only, until it expires or is revoked', async () => {
  await using hub = await testHub();
  const enroll = await create(hub);
  const reader = await create(hub, { scope: 'reader' });
  const { db } = hub.store;
  await checkToken(db, reader.token, 'reader', NOW);
  await expect(checkToken(db, enroll.token, 'reader', NOW)).rejects.toMatchObject(invalid(/not known/));
  await expect(checkToken(db, reader.token, 'enroll', NOW)).rejects.toMatchObject(invalid(/not known/));
  await expect(checkToken(db, reader.token, 'reader', addDays(NOW, 1))).rejects.toMatchObject(
    invalid(/ended/),
  );
  expect(await revokeToken(hub.store, reader.row.id, NOW)).toBe(true);
  expect(await revokeToken(hub.store, reader.row.id, NOW)).toBe(false);
  await expect(checkToken(db, reader.token, 'reader', NOW)).rejects.toMatchObject(invalid(/was revoked/));
  await expect(revokeToken(hub.store, 'nobody', NOW)).rejects.toMatchObject({ code: 'TOKEN_INVALID' });
});

test('the list shows what became of each token, and no secret', async () => {
  await using hub = await testHub();
  const made = {
    used: await create(hub, enrolling({ agent: 'one', channel: HOSTS, labels: { line: 'north' } })),
    ended: await create(hub, enrolling(), addDays(NOW, -1)),
    revoked: await create(hub, { scope: 'reader' }),
    open: await create(hub, enrolling({ replaceKey: true })),
  };
  await redeem(hub, made.used.token, testAgent('plant-7/one'));
  await revokeToken(hub.store, made.revoked.row.id, NOW);
  const listed = await listTokens(hub.store.db, NOW);
  for (const [state, { row, token }] of Object.entries(made)) {
    expect(listed.find(({ id }) => id === row.id)?.state).toBe(state);
    expect(JSON.stringify(listed)).not.toContain(token);
  }
  expect(listed.find(({ state }) => state === 'used')).toMatchObject({
    for: 'plant-7/one',
    channel: 'prod/factory-host',
    labels: { line: 'north' },
    usedBy: 'plant-7/one',
  });
  expect(listed.find(({ state }) => state === 'open')).toMatchObject({ for: 'plant-7/*', replaceKey: true });
});

test('the list shows a break-glass code as ended once its 15 minutes are over', async () => {
  await using hub = await testHub();
  await create(hub, { scope: 'break-glass', person: 'mara' });
  const at = (minutes: number) => new Date(NOW.getTime() + minutes * 60_000);
  const end = formatTime(at(15));
  expect(await listTokens(hub.store.db, at(14))).toMatchObject([{ state: 'open', expiresAt: end }]);
  expect(await listTokens(hub.store.db, at(15))).toMatchObject([{ state: 'ended', expiresAt: end }]);
});

describe('a token for decisions', () => {
  const order: TokenRequest = {
    scope: 'decide',
    person: 'ci-order-api',
    allowances: [parseAllowance('promote:qa'), parseAllowance('wait:*')],
  };

  test('names its person, and allows its verbs in its environments only', async () => {
    await using hub = await testHub();
    const { token } = await create(hub, order);
    expect(token).toMatch(/^ffd_/);
    const { person, allowances } = await checkCaller(hub.store.db, token, NOW);
    expect(person).toBe('ci-order-api');
    const may = (verb: Verb | undefined, environment: string) => isAllowed(allowances, verb, environment);
    expect([may('promote', 'qa'), may('wait', 'prod'), may(undefined, 'prod')]).toEqual([true, true, true]);
    expect([may('promote', 'prod'), may('approve', 'qa')]).toEqual([false, false]);
    expect(isAllowed([parseAllowance('promote:qa')], undefined, 'prod')).toBe(false);
    expect(await listTokens(hub.store.db, NOW)).toMatchObject([
      { scope: 'decide', person: 'ci-order-api', allowances: ['promote:qa', 'wait:*'], state: 'open' },
    ]);
  });

  test('expires, can be revoked, and is not valid for reading or enrolling', async () => {
    await using hub = await testHub();
    const { token, row } = await create(hub, order);
    const { db } = hub.store;
    await expect(checkCaller(db, token, addDays(NOW, 1))).rejects.toMatchObject(invalid(/ended/));
    await expect(checkToken(db, token, 'reader', NOW)).rejects.toMatchObject(invalid(/not known/));
    await revokeToken(hub.store, row.id, NOW);
    await expect(checkCaller(db, token, NOW)).rejects.toMatchObject(invalid(/revoked/));
  });

  test('may read only where it is allowed to, and a reader token decides nothing', async () => {
    await using hub = await testHub();
    const limited = await create(hub, {
      scope: 'reader',
      allowances: ['read:qa', 'read:prod/production'].map(parseAllowance),
    });
    const everything = await create(hub, { scope: 'reader' });
    const { db } = hub.store;
    expect(await checkCaller(db, limited.token, NOW)).toMatchObject({
      person: undefined,
      allowances: [
        { verb: 'read', environment: 'qa' },
        { verb: 'read', environment: 'prod', workspace: 'production' },
      ],
    });
    const { allowances } = await checkCaller(db, limited.token, NOW);
    expect([isAllowed(allowances, undefined, 'qa'), isAllowed(allowances, undefined, 'prod')]).toEqual([
      true,
      false,
    ]);
    expect((await checkCaller(db, everything.token, NOW)).allowances).toEqual([
      { verb: 'read', environment: '*' },
    ]);
  });

  test('may change values of sites, by labels and editableBy, and that allows nothing in an environment of that name', () => {
    const texts = ['values:*', 'values:site=plant-7', 'values:region=north,line=a:network'];
    const allowances = texts.map(parseAllowance);
    expect(allowances).toEqual([
      { verb: 'values', sites: {} },
      { verb: 'values', sites: { site: 'plant-7' } },
      { verb: 'values', sites: { region: 'north', line: 'a' }, editableBy: 'network' },
    ]);
    expect(allowances.map(formatAllowance)).toEqual(texts);
    for (const environment of ['', '*', 'plant-7'])
      expect(isAllowed(allowances, undefined, environment)).toBe(false);
  });

  test.each([
    '',
    'promote',
    'promote:',
    'promot:qa',
    'promote:qa:x',
    '*:qa',
    'promote:../qa',
    'promote:qa/production',
    'values',
    'values:plant-7',
    'values:site=plant-7:network:more',
    'values:region',
    'values:=north',
  ])('is refused for %j', (text) => {
    expect(() => parseAllowance(text)).toThrow(FleetError);
  });
});
