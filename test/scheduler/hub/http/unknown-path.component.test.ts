import { expect, it } from 'vitest';
import { testServer } from '../serve/test-server.ts';

it('answers a body on a path that does not exist as such, and none that is longer than bodies are', async () => {
  await using made = await testServer();
  const post = (bytes: number) =>
    made.server.inject({
      method: 'POST',
      url: '/v1/no-such-path',
      headers: { 'content-type': 'application/json' },
      payload: JSON.stringify('x'.repeat(bytes)),
    });
  expect((await post(10)).json()).toMatchObject({ code: 'USAGE', message: 'the hub has no such path' });
  expect((await post(60_000)).statusCode).toBe(404);
  expect((await post(70_000)).statusCode).toBe(413);
});
