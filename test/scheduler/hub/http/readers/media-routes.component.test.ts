import { expect, test } from 'vitest';
import { MEDIA_PATH } from '#bundles/formats/events/hub-api';
import { addDays, formatTime } from '#bundles/time';
import { parseAllowance } from '../../../../../scheduler/hub/sites/tokens/allowance.ts';
import { createToken } from '../../../../../scheduler/hub/sites/tokens/create-token.ts';
import { NOW } from '../../test-hub.ts';
import { type TestServer, testServer } from '../../serve/test-server.ts';

const DEPARTURE = {
  fleet: 'acme',
  createdAt: formatTime(addDays(NOW, -1)),
  releases: ['prod/press r3'],
  sites: ['plant-7'],
  volumes: ['a'.repeat(32)],
};

const tokenFor = async ({ hub }: TestServer, ...allow: readonly string[]): Promise<string> => {
  const order = { scope: 'decide', person: 'office', allowances: allow.map(parseAllowance) } as const;
  const { token } = await createToken(hub.store, order, {
    note: undefined,
    expires: addDays(NOW, 1),
    now: NOW,
  });
  return token;
};

const record = async ({ server }: TestServer, token: string, changes: object = {}) => {
  const { statusCode: status, payload } = await server.inject({
    method: 'POST',
    url: MEDIA_PATH,
    headers: { authorization: `Bearer ${token}` },
    payload: { ...DEPARTURE, ...changes },
  });
  return { status, body: JSON.parse(payload) as { readonly code?: string } };
};

test('a token for recording media records each medium once, and may not read', async () => {
  await using made = await testServer();
  const token = await tokenFor(made, 'record:prod');
  const { fleet: _, volumes: __, ...contents } = DEPARTURE;
  const recorded = { status: 200, body: { ...contents, recordedAt: formatTime(NOW) } };
  expect(await record(made, token)).toEqual(recorded);
  made.setNow(addDays(NOW, 0.5));
  expect(await record(made, token)).toEqual(recorded);
  expect(made.log).toContainEqual(
    expect.objectContaining({ msg: 'medium recorded', person: 'office', audit: true }),
  );
  for (const path of [MEDIA_PATH, '/v1/status', '/v1/environments/prod/gate']) {
    const { status } = await made.get(path, { authorization: `Bearer ${token}` });
    expect([path, status]).toEqual([path, path.includes('gate') ? 404 : 403]);
  }
});

test('a record is refused for releases outside of the token, another fleet, or invalid contents', async () => {
  await using made = await testServer();
  const token = await tokenFor(made, 'record:prod');
  const both = { releases: ['prod/press r3', 'qa/press r4'] };
  expect(await record(made, token, both)).toMatchObject({ status: 403, body: { code: 'TOKEN_SCOPE' } });
  const twice = { volumes: [...DEPARTURE.volumes, ...DEPARTURE.volumes] };
  expect((await record(made, await tokenFor(made, 'record:*'), { ...both, ...twice })).status).toBe(200);
  expect((await record(made, await tokenFor(made, 'promote:prod', 'wait:*'))).status).toBe(403);
  expect((await record(made, token, { fleet: 'other' })).body.code).toBe('WRONG_FLEET');
  for (const wrong of [{ releases: ['prod'] }, { createdAt: 'today' }, { volumes: ['../x'] }, { more: 1 }])
    expect(await record(made, token, wrong)).toMatchObject({ status: 400, body: { code: 'SCHEMA' } });
});
