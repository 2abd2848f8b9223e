import { expect, test } from 'vitest';
import { FleetError } from '#bundles/errors';
import { HOOKS_PATH } from '../../../../../scheduler/hub/http/hooks/hook-routes.ts';
import { testServer } from '../../serve/test-server.ts';

const withHooks = async () => {
  const seen: Buffer[] = [];
  let pokes = 0;
  const made = await testServer({
    hooks: {
      perMinute: 3,
      verify: (headers, body) => {
        seen.push(body);
        if (headers['x-secret'] !== 'right') throw new FleetError('TOKEN_INVALID', 'the signature is wrong');
      },
      wake: () => {
        pokes += 1;
      },
    },
  });
  const call = (secret: string, payload: string, type = 'application/json') =>
    made.server.inject({
      method: 'POST',
      url: HOOKS_PATH,
      headers: { 'content-type': type, 'x-secret': secret },
      payload,
    });
  return { made, seen, pokes: () => pokes, call, [Symbol.asyncDispose]: () => made[Symbol.asyncDispose]() };
};

test('an authenticated webhook wakes the loop, and its body is verified as received', async () => {
  await using hooks = await withHooks();
  const payload = '{ "a":1, "a":2 }';
  expect((await hooks.call('right', payload)).statusCode).toBe(202);
  expect((await hooks.call('right', 'a=1', 'application/x-www-form-urlencoded')).statusCode).toBe(202);
  expect(hooks.seen.map(String)).toEqual([payload, 'a=1']);
  expect(hooks.pokes()).toBe(2);
});

test('H12: a stranger does not, and may not try for ever', async () => {
  await using hooks = await withHooks();
  const answers = [];
  for (let time = 0; time < 4; time++) answers.push(await hooks.call('wrong', '{}'));
  expect(answers.map(({ statusCode }) => statusCode)).toEqual([401, 401, 401, 429]);
  expect(answers[0]?.json()).toMatchObject({ code: 'TOKEN_INVALID', detail: 'the signature is wrong' });
  expect(hooks.pokes()).toBe(0);
});

test('without a webhook secret the path does not exist', async () => {
  await using made = await testServer();
  expect((await made.post(HOOKS_PATH, {})).status).toBe(404);
});
