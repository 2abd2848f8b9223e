import { expect, test } from 'vitest';
import { addDays, formatTime } from '#bundles/time';
import { createAlarm } from '../../../../../scheduler/hub/alarms/alarm.ts';
import { keepAlarms } from '../../../../../scheduler/hub/alarms/keep-alarms.ts';
import { parseAllowance } from '../../../../../scheduler/hub/sites/tokens/allowance.ts';
import { createToken } from '../../../../../scheduler/hub/sites/tokens/create-token.ts';
import { NOW } from '../../test-hub.ts';
import { testServer } from '../../serve/test-server.ts';

const at = (site: string, environment: string, workspace: string) => ({
  site,
  agent: `${site}/press-1`,
  environment,
  clusterType: 'press',
  workspace,
  assignment: `${workspace}-app`,
});

const open = async () => {
  const made = await testServer();
  const since = formatTime(addDays(NOW, -1));
  const raise = (subject: object, kind: 'PACKAGE_FAILED' | 'ROOT_ENDS' = 'PACKAGE_FAILED') =>
    createAlarm(kind, 'critical', subject, since, 'failed');
  const alarms = {
    labels: raise(at('plant-1', 'prod', 'labels')),
    shop: raise(at('plant-1', 'prod', 'shop')),
    qa: raise(at('lab', 'qa', 'labels')),
    root: raise({ name: 'root' }, 'ROOT_ENDS'),
  };
  await keepAlarms(made.hub.store, Object.values(alarms), { now: NOW });
  const caller = async (...allow: readonly string[]) => {
    const order = { scope: 'decide', person: 'mara', allowances: allow.map(parseAllowance) } as const;
    const { token } = await createToken(made.hub.store, order, {
      note: undefined,
      expires: addDays(NOW, 1),
      now: NOW,
    });
    return async (path: string, target: string, more: object = {}, headers: Record<string, string> = {}) => {
      const { statusCode: status, payload } = await made.server.inject({
        method: 'POST',
        url: `/v1/alarms/${path}`,
        headers: { authorization: `Bearer ${token}`, ...headers },
        payload: { target, reason: 'known', ...more },
      });
      return { status, body: JSON.parse(payload) as { readonly code?: string } };
    };
  };
  return { made, alarms, caller, [Symbol.asyncDispose]: () => made[Symbol.asyncDispose]() };
};

test('an operator of an environment handles its alarms, one of a workspace those that it owns, nobody else any', async () => {
  await using hub = await open();
  const { labels, shop, qa, root } = hub.alarms;
  const outcome = async (allow: readonly string[], { id }: { readonly id: string }) => {
    const { status, body } = await (await hub.caller(...allow))('acknowledge', id);
    return status === 200 ? 200 : `${status} ${body.code ?? ''}`;
  };
  // May read everything: the refusal says what is missing.
  expect(await outcome(['read:*'], labels)).toBe('403 TOKEN_SCOPE');
  expect(await outcome(['read:*', 'promote:*'], labels)).toBe('403 TOKEN_SCOPE');
  expect(await outcome(['read:*', 'alarms:prod/labels'], shop)).toBe('403 TOKEN_SCOPE');
  expect(await outcome(['read:*', 'alarms:prod'], qa)).toBe('403 TOKEN_SCOPE');
  expect(await outcome(['read:*', 'alarms:prod'], root)).toBe('403 TOKEN_SCOPE');
  // May not know of the alarm: the same answer as for one that is not there.
  expect(await outcome(['read:prod', 'alarms:prod'], qa)).toBe('404 ALARM_MISSING');
  expect(await outcome(['alarms:prod/labels'], shop)).toBe('404 ALARM_MISSING');
  expect(await outcome(['alarms:prod'], { id: `alarm_${'0'.repeat(40)}` })).toBe('404 ALARM_MISSING');
  expect(await outcome(['alarms:prod/labels'], labels)).toBe(200);
  expect(await outcome(['alarms:prod'], shop)).toBe(200);
  expect(await outcome(['alarms:*'], root)).toBe(200);
  expect(await outcome(['alarms:*'], labels)).toBe('409 ALARM_HANDLED');
});

test('a silence is taken once, and bad input is refused with its reason', async () => {
  await using hub = await open();
  const ask = await hub.caller('alarms:*');
  const { id } = hub.alarms.labels;
  const until = formatTime(addDays(NOW, 1));
  const key = { 'idempotency-key': 'one' };
  const first = await ask('silence', id, { until }, key);
  expect(first).toMatchObject({ status: 200, body: { alarms: 1, until } });
  expect(await ask('silence', id, { until }, key)).toEqual(first);
  expect((await ask('silence', id, { until })).body.code).toBe('ALARM_HANDLED');
  for (const bad of [
    {},
    { until: formatTime(addDays(NOW, -1)) },
    { until: '9999-12-31T23:59:59Z' },
    { until: 'soon' },
  ])
    expect([bad, (await ask('silence', hub.alarms.qa.id, bad)).status]).toEqual([bad, 400]);
  for (const target of ['', 'plant-1', `${id}'--`, null])
    expect([target, (await ask('acknowledge', target as string)).status]).toEqual([target, 400]);
  expect((await ask('acknowledge', hub.alarms.qa.id, { reason: '  ' })).status).toBe(400);
  expect((await ask('end', id)).status).toBe(200);
  const { body } = await hub.made.get('/v1/alarms/causes?workspace=labels', {
    authorization: `Bearer ${(await createToken(hub.made.hub.store, { scope: 'reader', allowances: undefined }, { note: undefined, expires: addDays(NOW, 1), now: NOW })).token}`,
  });
  expect(body).toMatchObject({ total: 2, alarms: 2, causes: [{ owner: 'labels', silence: null }, {}] });
});
