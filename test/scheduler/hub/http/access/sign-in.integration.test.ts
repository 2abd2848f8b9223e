import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CALLBACK_PATH, SIGN_IN_PATH } from '../../../../../scheduler/hub/http/access/sign-in-routes.ts';
import { NO_PEOPLE, type People } from '../../../../../scheduler/hub/people/people.ts';
import type { RoleRule } from '../../../../../scheduler/hub/people/role.ts';
import {
  CLIENT,
  OTHER_CLIENT,
  signInAt,
  startOidcProvider,
  type TestProvider,
} from '../../../../harness/neighbours/oidc-provider.ts';
import { addDays } from '#bundles/time';
import { createToken } from '../../../../../scheduler/hub/sites/tokens/create-token.ts';
import { type TestServer, testServer } from '../../serve/test-server.ts';
import { type DecisionServer, decisionServer } from '../decisions/decision-server.ts';

const ORIGIN = 'http://127.0.0.1:8443';
const REDIRECT = `${ORIGIN}${CALLBACK_PATH}`;

const ROLES: readonly RoleRule[] = [
  { role: 'admin', groups: ['fleet-admins'] },
  { role: 'operator', groups: ['line-3'], environments: ['prod'] },
  { role: 'viewer', people: ['Vera@example.com'], environments: ['qa'] },
];

let provider: TestProvider;
let made: TestServer;
beforeAll(async () => {
  provider = await startOidcProvider([REDIRECT]);
  made = await testServer({ people: peopleWith() });
});
afterAll(async () => {
  await made[Symbol.asyncDispose]();
  await provider[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await made.hub.store.db.deleteFrom('session').execute();
  made.setNow(new Date());
  provider.accounts.clear();
  provider.accounts.set('mara', { groups: ['line-3'] });
  provider.accounts.set('vera', { groups: [] });
  Object.assign(provider, { tamper: undefined, delayMs: 0, isDown: false });
});

const peopleWith = (changes: Partial<People> = {}): People => ({
  ...NO_PEOPLE,
  origin: ORIGIN,
  roles: ROLES,
  oidc: {
    issuer: provider.issuer,
    clientId: CLIENT.id,
    clientSecret: CLIENT.secret,
    scope: 'openid email groups',
    personClaim: 'email',
    groupsClaim: 'groups',
    ca: undefined,
    timeoutMs: 1_000,
  },
  ...changes,
});

/** A browser at the hub: its cookies, and where it was sent to. */
const browserAt = ({ server }: Pick<TestServer, 'server'>) => {
  const cookies = new Map<string, string>();
  const request = async (
    method: 'GET' | 'POST',
    url: string,
    headers: Record<string, string> = {},
    body: object = {},
  ) => {
    const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
    const answer = await server.inject({
      method,
      url,
      headers: { host: '127.0.0.1:8443', ...(cookie !== '' && { cookie }), ...headers },
      ...(method === 'POST' && { payload: body }),
    });
    const set = answer.cookies as {
      readonly name: string;
      readonly value: string;
      readonly maxAge?: number;
    }[];
    for (const { name, value, maxAge } of set)
      if (maxAge === 0) cookies.delete(name);
      else cookies.set(name, value);
    const isJson = String(answer.headers['content-type']).startsWith('application/');
    return {
      status: answer.statusCode,
      location: answer.headers.location,
      cookies: [answer.headers['set-cookie'] ?? []].flat(),
      json: isJson ? answer.json<Record<string, unknown>>() : {},
    };
  };
  const get = (url: string) => request('GET', url);
  return {
    cookies,
    get,
    request,
    /** Writes as the page does. */
    post: async (url: string, body: object) => {
      const csrf = String((await get('/v1/me')).json['csrf']);
      return request(
        'POST',
        url,
        { 'x-fleet-csrf': csrf, origin: ORIGIN, 'sec-fetch-site': 'same-origin' },
        body,
      );
    },
    /** The whole way over the provider. */
    signIn: async (login: string, to = '/pipeline') => {
      const begun = await get(`${SIGN_IN_PATH}?to=${encodeURIComponent(to)}`);
      const back = await signInAt(begun.location ?? '', login, REDIRECT);
      return get(`${back.pathname}${back.search}`);
    },
    /** As far as the provider. */
    begin: async (login: string): Promise<string> => {
      const begun = await get(SIGN_IN_PATH);
      const back = await signInAt(begun.location ?? '', login, REDIRECT);
      return `${back.pathname}${back.search}`;
    },
  };
};

/** A hub of its own with an audit log. */
const officeWith = async (people = peopleWith()): Promise<DecisionServer> => {
  const made = await decisionServer({ people });
  made.setNow(new Date());
  return made;
};

/** The codes of sign-ins that the hub refused, as its log has them. */
const refusals = ({ log }: TestServer): readonly unknown[] =>
  log.flatMap(({ audit, code, msg }) =>
    audit === true && String(msg).startsWith('sign-in refused') ? [code] : [],
  );

const fault = (name: string) => ({ status: 302, location: `/ui/sign-in?fault=${name}` });

describe('signing in', () => {
  test('redirects to the requested view with the roles of the groups, and each decision names the person', async () => {
    await using made = await officeWith();
    const mara = browserAt(made);
    expect((await mara.get('/v1/me')).json).toMatchObject({ code: 'TOKEN_INVALID' });
    const { status, location, cookies } = await mara.signIn('mara', '/pipeline?to=prod');
    expect([status, location]).toEqual([302, '/ui/pipeline?to=prod']);
    expect(cookies.find((one) => one.startsWith('__Host-fleet-session='))).toMatch(
      /^__Host-fleet-session=[\w-]{43}; Max-Age=(?:14400|14399); Path=\/; HttpOnly; Secure; SameSite=Lax$/,
    );
    expect((await mara.get('/v1/me')).json).toMatchObject({
      kind: 'oidc',
      person: `mara@example.com (OIDC ${new URL(provider.issuer).host})`,
      may: expect.arrayContaining(['promote:prod', 'read:prod']),
      admin: false,
      breakGlass: [],
    });
    const paused = await mara.post('/v1/environments/prod/pause', { reason: 'stock taking' });
    expect(paused).toMatchObject({ status: 200, json: { outcome: 'decided' } });
    const entry = (await made.office.entries()).at(-1);
    expect(entry?.predicate).toMatchObject({
      decision: 'pause',
      person: `mara@example.com (OIDC ${new URL(provider.issuer).host})`,
    });
    expect((await mara.post('/v1/environments/prod/rejections', { reason: 'no' })).json).toMatchObject({
      code: 'ROLE_MISSING',
    });
    expect((await mara.get('/v1/sessions')).json).toMatchObject({
      sessions: [{ person: 'mara@example.com', current: true }],
    });
    expect(await mara.post('/v1/sessions/end', {})).toMatchObject({ status: 200, json: { ended: true } });
    expect((await mara.get('/v1/me')).json).toMatchObject({ code: 'TOKEN_INVALID' });
  });

  test('as a viewer of one environment gives read access there, and no decisions', async () => {
    await using made = await officeWith();
    const vera = browserAt(made);
    await vera.signIn('vera');
    expect((await vera.get('/v1/me')).json).toMatchObject({ may: ['read:qa'] });
    expect((await vera.get('/v1/status')).json).toMatchObject({ rows: [] });
    expect((await vera.get('/v1/environments/prod/gate')).json).toMatchObject({ code: 'ROLE_MISSING' });
    expect((await vera.post('/v1/environments/qa/pause', { reason: 'x' })).json).toMatchObject({
      code: 'ROLE_MISSING',
    });
  });

  test('is refused without a role, and with an address that the provider did not verify', async () => {
    provider.accounts.set('nobody', { groups: ['canteen'] });
    provider.accounts.set('vera', { groups: [], verified: false });
    expect(await browserAt(made).signIn('nobody')).toMatchObject(fault('no-role'));
    expect(await browserAt(made).signIn('vera')).toMatchObject(fault('no-person'));
    expect(await made.hub.store.db.selectFrom('session').selectAll().execute()).toEqual([]);
  });

  test('as an admin shows the sessions of all people and ends them', async () => {
    const [mara, admin] = [browserAt(made), browserAt(made)];
    provider.accounts.set('ada', { groups: ['fleet-admins'] });
    await mara.signIn('mara');
    await admin.signIn('ada');
    const { sessions } = (await admin.get('/v1/sessions')).json as {
      readonly sessions: readonly { readonly id: string; readonly person: string }[];
    };
    expect((await mara.get('/v1/sessions')).json).toMatchObject({ sessions: [{ current: true }] });
    const other = sessions.find(({ person }) => person === 'ada@example.com')?.id ?? '';
    expect((await mara.post(`/v1/sessions/${other}/end`, {})).json).toMatchObject({ code: 'ROLE_MISSING' });
    const id = sessions.find(({ person }) => person === 'mara@example.com')?.id ?? '';
    expect((await admin.post(`/v1/sessions/${id}/end`, {})).json).toEqual({ ended: true });
    expect(await mara.get('/v1/status')).toMatchObject({ status: 401, json: { code: 'SESSION_INVALID' } });
  });
});

describe('attacks on the sign-in', () => {
  test('H43: a session that was planted in the browser before is not the one after -> SESSION_INVALID', async () => {
    const attacker = browserAt(made);
    await attacker.signIn('vera');
    const planted = attacker.cookies.get('__Host-fleet-session') ?? '';
    const victim = browserAt(made);
    victim.cookies.set('__Host-fleet-session', planted);
    await victim.signIn('mara');
    expect(victim.cookies.get('__Host-fleet-session')).not.toBe(planted);
    expect((await victim.get('/v1/me')).json).toMatchObject({ person: expect.stringContaining('mara@') });
    expect((await attacker.get('/v1/me')).json).toMatchObject({ code: 'SESSION_INVALID' });
  });

  test('H44: a write that another page sends with the cookie', async () => {
    await using made = await officeWith();
    const mara = browserAt(made);
    await mara.signIn('mara');
    const csrf = String((await mara.get('/v1/me')).json['csrf']);
    const path = '/v1/environments/prod/pause';
    const before = await made.office.entries();
    for (const headers of [
      {},
      { 'x-fleet-csrf': 'A'.repeat(43) },
      { 'x-fleet-csrf': csrf, origin: 'https://evil.example' },
      { 'x-fleet-csrf': csrf, origin: 'null' },
      { 'x-fleet-csrf': csrf, 'sec-fetch-site': 'cross-site' },
      { 'x-fleet-csrf': csrf, 'sec-fetch-site': 'same-site' },
    ] as Record<string, string>[])
      expect((await mara.request('POST', path, headers, { reason: 'x' })).json).toMatchObject({
        code: 'CROSS_SITE',
      });
    expect(await made.office.entries()).toEqual(before);
  });

  test('H45: a callback that is forged, from another browser, or played again', async () => {
    const mara = browserAt(made);
    const callback = await mara.begin('mara');
    // In the browser of somebody else it would sign them in as the attacker.
    expect(await browserAt(made).get(callback)).toMatchObject(fault('not-started'));
    expect(await mara.get(callback)).toMatchObject({ status: 302, location: '/ui/' });
    expect(await mara.get(callback)).toMatchObject(fault('not-started'));
    const other = browserAt(made);
    const own = new URL(await other.begin('vera'), ORIGIN);
    own.searchParams.set('state', 'A'.repeat(43));
    expect(await other.get(`${own.pathname}${own.search}`)).toMatchObject(fault('refused'));
    const third = browserAt(made);
    const code = new URL(await third.begin('vera'), ORIGIN);
    code.searchParams.set('code', 'made-up');
    expect(await third.get(`${code.pathname}${code.search}`)).toMatchObject(fault('refused'));
    const iss = browserAt(made);
    const mixed = new URL(await iss.begin('vera'), ORIGIN);
    mixed.searchParams.set('iss', 'https://evil.example');
    expect(await iss.get(`${mixed.pathname}${mixed.search}`)).toMatchObject(fault('refused'));
    expect(refusals(made).at(-1)).toBe('SIGN_IN_REFUSED');
    const { length } = await made.hub.store.db.selectFrom('session').selectAll().execute();
    expect(length).toBe(1);
  });

  test.each([
    ['another audience', { aud: OTHER_CLIENT.id }],
    ['another issuer', { iss: 'https://evil.example' }],
    ['another nonce', { nonce: 'of another sign-in' }],
    ['no nonce', { nonce: undefined }],
  ])('H46: an ID token of %s, signed by the provider', async (_, changes) => {
    provider.tamper = (claims) => ({ ...claims, ...changes });
    expect(await browserAt(made).signIn('mara')).toMatchObject(fault('refused'));
    expect(refusals(made).at(-1)).toBe('SIGN_IN_REFUSED');
  });

  test('H47: a role that was withdrawn, in the configuration and at the provider', async () => {
    await using made = await officeWith();
    const mara = browserAt(made);
    await mara.signIn('mara');
    await using later = await officeWith(peopleWith({ roles: ROLES.slice(0, 1) }));
    const rows = await made.store.db.selectFrom('session').selectAll().execute();
    await later.store.transact((tx) => tx.insertInto('session').values(rows).execute());
    const there = browserAt(later);
    for (const [name, value] of mara.cookies) there.cookies.set(name, value);
    expect((await there.post('/v1/environments/prod/pause', { reason: 'x' })).json).toMatchObject({
      code: 'ROLE_MISSING',
    });
    provider.accounts.set('mara', { groups: [] });
    expect(await browserAt(made).signIn('mara')).toMatchObject(fault('no-role'));
  });

  test('H42: a view at another site after the sign-in -> ACCEPT', async () => {
    for (const to of ['https://evil.example/', '//evil.example/', '/\\evil.example', '/\t/evil.example']) {
      const mara = browserAt(made);
      expect(await mara.signIn('mara', to)).toMatchObject({ status: 302, location: '/ui/' });
      expect(await mara.get('/v1/me')).toMatchObject({ status: 200 });
    }
  });
});

describe('an identity provider', () => {
  test('that is down or slow does not affect sessions, tokens and break-glass codes', async () => {
    const mara = browserAt(made);
    await mara.signIn('mara');
    const late = browserAt(made);
    const callback = await late.begin('mara');
    const now = new Date();
    const terms = { note: 'login is down', expires: addDays(now, 1), now };
    const { token } = await createToken(made.hub.store, { scope: 'reader' }, terms);
    const authorization = `Bearer ${token}`;
    for (const trouble of [{ isDown: true }, { isDown: false, delayMs: 3_000 }]) {
      Object.assign(provider, trouble);
      expect(await browserAt(made).get(SIGN_IN_PATH)).toMatchObject(fault('unreachable'));
      expect((await mara.get('/v1/status')).status).toBe(200);
      expect((await made.get('/v1/status', { authorization })).status).toBe(200);
    }
    expect(await late.get(callback)).toMatchObject(fault('unreachable'));

    const { token: code } = await createToken(made.hub.store, { scope: 'break-glass', person: 'ada' }, terms);
    const ada = browserAt(made);
    const evil = { origin: 'https://evil.example' };
    expect((await ada.request('POST', '/v1/break-glass', evil, { code })).json).toMatchObject({
      code: 'CROSS_SITE',
    });
    const opened = await ada.request('POST', '/v1/break-glass', { origin: ORIGIN }, { code });
    expect(opened).toMatchObject({ status: 200, json: { signedIn: true } });
    const shown = { breakGlass: [{ person: 'ada', reason: 'login is down' }] };
    expect((await ada.get('/v1/me')).json).toMatchObject({ kind: 'break-glass', admin: true, ...shown });
    expect((await mara.get('/v1/me')).json).toMatchObject({ kind: 'oidc', ...shown });
    expect(made.log.filter(({ msg }) => msg === 'BREAK-GLASS session began')).toMatchObject([
      { level: 40, audit: true, person: 'ada' },
    ]);
  });

  test('with rotated keys signs people in as before', async () => {
    expect(await browserAt(made).signIn('mara')).toMatchObject({ location: '/ui/pipeline' });
    provider.rotateKeys();
    expect(await browserAt(made).signIn('mara')).toMatchObject({ location: '/ui/pipeline' });
  });

  test('whose clock differs by hours is reported as a clock fault', async () => {
    made.setNow(new Date(Date.now() + 2 * 3_600_000));
    expect(await browserAt(made).signIn('mara')).toMatchObject(fault('clock'));
    made.setNow(new Date());
    provider.tamper = (claims) => ({ ...claims, nbf: Number(claims['iat']) + 600 });
    expect(await browserAt(made).signIn('mara')).toMatchObject(fault('clock'));
  });

  test('whose clock differs by half a minute signs people in', async () => {
    made.setNow(new Date(Date.now() - 30_000));
    expect(await browserAt(made).signIn('mara')).toMatchObject({ location: '/ui/pipeline' });
  });

  test('that denies access ends the sign-in as denied', async () => {
    const mara = browserAt(made);
    const begun = await mara.get(SIGN_IN_PATH);
    const state = new URL(begun.location ?? '').searchParams.get('state') ?? '';
    const query = new URLSearchParams({ error: 'access_denied', state, iss: provider.issuer });
    expect(await mara.get(`${CALLBACK_PATH}?${query.toString()}`)).toMatchObject(fault('denied'));
  });
});
