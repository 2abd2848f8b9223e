import { expect, test } from 'vitest';
import { FleetError } from '#bundles/errors';
import { CHECKS_PATH } from '../../../../../scheduler/hub/promote/checks/describe-question.ts';
import { testServer } from '../../serve/test-server.ts';

test('the response of a check is passed on as the signed bytes, and a refusal has its reason', async () => {
  const taken: unknown[] = [];
  await using made = await testServer({
    checks: {
      take: async (id, headers, body) => {
        taken.push([id, headers['webhook-id'], body.toString()]);
        if (id === 'check_late') throw new FleetError('CHECK_REFUSED', 'the answer comes too late');
      },
    },
  });
  const call = (id: string, payload: string) =>
    made.server.inject({
      method: 'POST',
      url: `${CHECKS_PATH}/${id}`,
      headers: { 'content-type': 'application/json', 'webhook-id': id },
      payload,
    });
  const good = await call('check_1', '{ "a":1, "a":2 }');
  expect([good.statusCode, good.json()]).toEqual([200, { stored: true }]);
  expect(taken).toEqual([['check_1', 'check_1', '{ "a":1, "a":2 }']]);
  const late = await call('check_late', '{}');
  expect([late.statusCode, late.json()]).toEqual([
    409,
    expect.objectContaining({ code: 'CHECK_REFUSED', detail: 'the answer comes too late' }),
  ]);
  expect((await call('check_1', 'x'.repeat(20_000))).statusCode).toBe(413);
});

test('without a secret for checks the path does not exist', async () => {
  await using made = await testServer();
  expect((await made.post(`${CHECKS_PATH}/check_1`, {})).status).toBe(404);
});
