import { describe, expect, test } from 'vitest';
import { breakGlass } from '../../../../scheduler/hub/people/break-glass.ts';
import { listBreakGlass, listSessions } from '../../../../scheduler/hub/people/list-sessions.ts';
import {
  createSession,
  endSession,
  endSessionsOf,
  findSession,
  type OpenSession,
  rotateSession,
} from '../../../../scheduler/hub/people/session.ts';
import { endSignIn, startSignIn, targetOf } from '../../../../scheduler/hub/people/sign-in.ts';
import { createToken } from '../../../../scheduler/hub/sites/tokens/create-token.ts';
import { revokeToken } from '../../../../scheduler/hub/sites/tokens/list-tokens.ts';
import { NOW, type TestHub, testHub } from '../test-hub.ts';

const after = (minutes: number): Date => new Date(NOW.getTime() + minutes * 60_000);
const IDLE_MS = 60 * 60_000;
const at = (minutes: number) => ({ now: after(minutes), idleMs: IDLE_MS });
const ended = (message: RegExp) => ({ code: 'SESSION_INVALID', message: expect.stringMatching(message) });

const open = ({ store }: TestHub, person = 'mara@example.com'): Promise<OpenSession> =>
  store.transact((tx) =>
    createSession(tx, {
      kind: 'oidc',
      issuer: 'https://login.example',
      subject: 'm-1',
      person,
      groups: '["fleet"]',
      token: null,
      endsAt: after(12 * 60),
      now: NOW,
    }),
  );

describe('a session', () => {
  test('is found by its secret, of which the database has a hash only', async () => {
    await using hub = await testHub();
    const { secret, row } = await open(hub);
    expect((await findSession(hub.store, secret, at(1))).row).toMatchObject({
      id: row.id,
      person: row.person,
    });
    const stored = JSON.stringify(await hub.store.db.selectFrom('session').selectAll().execute());
    expect(stored).not.toContain(secret);
    for (const other of ['', 'x', secret.slice(1), `${secret}x`, 'A'.repeat(43)])
      await expect(findSession(hub.store, other, at(1))).rejects.toMatchObject({ code: 'SESSION_INVALID' });
  });

  test('ends after an hour without requests, and after twelve hours with requests', async () => {
    await using hub = await testHub();
    const idle = await open(hub);
    await expect(findSession(hub.store, idle.secret, at(60))).rejects.toMatchObject(ended(/last request/));
    const { secret } = await open(hub);
    for (let minutes = 50; minutes < 12 * 60; minutes += 50)
      await findSession(hub.store, secret, at(minutes));
    await expect(findSession(hub.store, secret, at(12 * 60))).rejects.toMatchObject(ended(/ended on/));
  });

  test('I11: ends when the clock was set back by years: it would count until that time comes again', async () => {
    await using hub = await testHub();
    const { secret } = await open(hub);
    const before = { now: after(-3 * 365 * 24 * 60), idleMs: IDLE_MS };
    await expect(findSession(hub.store, secret, before)).rejects.toMatchObject(ended(/was ahead/));
    // Clocks of replicas differ by moments.
    expect((await findSession(hub.store, secret, at(-1))).row).toMatchObject({ person: 'mara@example.com' });
  });

  test('gets a new secret every 15 minutes, and the previous one is valid for another minute', async () => {
    await using hub = await testHub();
    const { store } = hub;
    const { secret } = await open(hub);
    expect(await rotateSession(store, await findSession(store, secret, at(14)), after(14))).toBeUndefined();
    const found = await findSession(store, secret, at(15));
    const next = await rotateSession(store, found, after(15));
    expect(next).toMatch(/^[\w-]{43}$/);
    // Two requests of one page at once: one of them replaces the secret.
    expect(await rotateSession(store, found, after(15))).toBeUndefined();
    expect((await findSession(store, secret, at(15))).isPrevious).toBe(true);
    expect((await findSession(store, next ?? '', at(16))).isPrevious).toBe(false);
  });

  test('H40: ends for both when a copy of an old cookie is used', async () => {
    await using hub = await testHub();
    const { store } = hub;
    const { secret } = await open(hub);
    const next = await rotateSession(store, await findSession(store, secret, at(20)), after(20));
    await expect(findSession(store, secret, at(22))).rejects.toMatchObject(ended(/old cookie/));
    await expect(findSession(store, next ?? '', at(22))).rejects.toMatchObject(ended(/old cookie/));
  });

  test('is ended by its id, or with all sessions of a person', async () => {
    await using hub = await testHub();
    const { store } = hub;
    const [one, other, third] = [await open(hub), await open(hub), await open(hub, 'otto@example.com')];
    expect(await endSession(store, one.row.id, { why: 'signed out', now: after(1) })).toBe(true);
    expect(await endSession(store, one.row.id, { why: 'signed out', now: after(1) })).toBe(false);
    expect(await endSessionsOf(store, 'mara@example.com', { why: 'left', now: after(1) })).toBe(1);
    await expect(findSession(store, other.secret, at(2))).rejects.toMatchObject(ended(/left/));
    expect((await findSession(store, third.secret, at(2))).row.person).toBe('otto@example.com');
    expect(await listSessions(store.db, at(2))).toMatchObject([
      { person: expect.any(String), state: expect.any(String) },
      {},
      {},
    ]);
    const states = (await listSessions(store.db, at(2))).map(({ person, state }) => `${person} ${state}`);
    expect(states.toSorted()).toEqual([
      'mara@example.com ended',
      'mara@example.com ended',
      'otto@example.com open',
    ]);
  });
});

describe('a break-glass code', () => {
  const makeCode = async ({ store }: TestHub) =>
    createToken(
      store,
      { scope: 'break-glass', person: 'mara' },
      { note: 'login is down', expires: after(60), now: NOW },
    );

  test('opens one session, which is shown to everyone until it ends', async () => {
    await using hub = await testHub();
    const { store } = hub;
    const { token, row } = await makeCode(hub);
    const { secret } = await breakGlass(store, token, after(14));
    expect((await findSession(store, secret, at(15))).row).toMatchObject({
      kind: 'break-glass',
      person: 'mara',
      token: row.id,
    });
    expect(await listBreakGlass(store.db, after(15))).toEqual([
      { person: 'mara', reason: 'login is down', until: row.expires_at },
    ]);
    expect(await listBreakGlass(store.db, after(60))).toEqual([]);
    await expect(findSession(store, secret, at(60))).rejects.toMatchObject(ended(/ended on/));
  });

  test('H41: opens nothing a second time, after 15 minutes, or when it was revoked', async () => {
    await using hub = await testHub();
    const { store } = hub;
    const refused = (message: RegExp) => ({ code: 'TOKEN_INVALID', message: expect.stringMatching(message) });
    const { token, row } = await makeCode(hub);
    const { secret } = await breakGlass(store, token, after(1));
    await expect(breakGlass(store, token, after(2))).rejects.toMatchObject(refused(/was used/));
    await revokeToken(store, row.id, after(3));
    await expect(findSession(store, secret, at(4))).rejects.toMatchObject(ended(/revoked/));
    const late = await makeCode(hub);
    await expect(breakGlass(store, late.token, after(15))).rejects.toMatchObject(refused(/15 minutes/));
    const gone = await makeCode(hub);
    await revokeToken(store, gone.row.id, after(1));
    await expect(breakGlass(store, gone.token, after(2))).rejects.toMatchObject(refused(/revoked/));
    const reader = await createToken(
      store,
      { scope: 'reader' },
      { note: undefined, expires: after(60), now: NOW },
    );
    await expect(breakGlass(store, reader.token, after(1))).rejects.toMatchObject(refused(/not known/));
  });
});

describe('a sign-in', () => {
  test('is completed once, within ten minutes, in the browser that began it', async () => {
    await using hub = await testHub();
    const { store } = hub;
    const { secret, checks } = await startSignIn(store, '/pipeline', NOW);
    expect(new Set(Object.values(checks)).size).toBe(3);
    expect(await endSignIn(store, undefined, NOW)).toBeUndefined();
    expect(await endSignIn(store, 'A'.repeat(43), NOW)).toBeUndefined();
    expect(await endSignIn(store, secret, after(1))).toEqual({ checks, target: '/pipeline' });
    expect(await endSignIn(store, secret, after(1))).toBeUndefined();
    const slow = await startSignIn(store, '/', NOW);
    expect(await endSignIn(store, slow.secret, after(10))).toBeUndefined();
  });

  test.each([
    ['/sites/plant-7?at=1', '/sites/plant-7?at=1'],
    [undefined, '/'],
    ['', '/'],
    ['https://evil.example/', '/'],
    ['//evil.example/', '/'],
    ['/\\evil.example/', '/'],
    ['/a\r\nset-cookie: x=1', '/'],
    ['/\t/evil.example', '/'],
    ['javascript:alert(1)', '/'],
  ])('H42: leads from %j to %j and to no other site -> ACCEPT', (given, target) => {
    expect(targetOf(given)).toBe(target);
  });
});
