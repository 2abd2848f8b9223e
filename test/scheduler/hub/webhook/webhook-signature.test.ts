import { describe, expect, it } from 'vitest';
import { signWebhook, verifySigned } from '../../../../scheduler/hub/webhook/webhook-signature.ts';

/** The example of the Standard Webhooks libraries. */
const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw';
const MESSAGE = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  body: Buffer.from('{"test": 2432232314}'),
  now: new Date(1_614_265_330_000),
};
const HEADERS = {
  'webhook-id': MESSAGE.id,
  'webhook-timestamp': '1614265330',
  'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
};

const verify = (
  headers: Readonly<Record<string, string>>,
  more: Partial<typeof MESSAGE> = {},
  secret = SECRET,
): number => verifySigned(secret, (name) => headers[name], { ...MESSAGE, ...more });

describe('a signature of Standard Webhooks', () => {
  it('equals the example of the specification', () => {
    expect(signWebhook(SECRET, MESSAGE)).toEqual(HEADERS);
    expect(verify(HEADERS)).toBe(1_614_265_330);
  });

  it('may be one of several during a change of secret', () => {
    const several = `v1,${Buffer.alloc(32).toString('base64')} v2,abc ${HEADERS['webhook-signature']}`;
    expect(verify({ ...HEADERS, 'webhook-signature': several })).toBe(1_614_265_330);
  });

  it('may use a secret without the whsec_ prefix', () => {
    const secret = 'sixteen letters and more';
    expect(verify(signWebhook(secret, MESSAGE), {}, secret)).toBe(1_614_265_330);
  });

  it.each([
    ['another secret', HEADERS, {}, 'whsec_AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA', 'does not match'],
    ['another body', HEADERS, { body: Buffer.from('{"test": 1}') }, SECRET, 'does not match'],
    ['another id', HEADERS, { id: 'msg_other' }, SECRET, 'webhook-id'],
    [
      'an id that was moved',
      { ...HEADERS, 'webhook-id': 'msg_other' },
      { id: 'msg_other' },
      SECRET,
      'does not match',
    ],
    [
      'a time that was moved',
      { ...HEADERS, 'webhook-timestamp': '1614265331' },
      {},
      SECRET,
      'does not match',
    ],
    ['no time', { ...HEADERS, 'webhook-timestamp': '1e9' }, {}, SECRET, 'not a number'],
    ['a time long ago', HEADERS, { now: new Date(1_614_265_631_000) }, SECRET, 'at most 300 s'],
    ['a time to come', HEADERS, { now: new Date(1_614_265_029_000) }, SECRET, 'at most 300 s'],
    ['no signature', { 'webhook-id': MESSAGE.id }, {}, SECRET, 'not signed'],
    ['an empty signature', { ...HEADERS, 'webhook-signature': 'v1,' }, {}, SECRET, 'does not match'],
  ])('with %s is refused', (_, headers, more, secret, why) => {
    expect(() => verify(headers, more, secret)).toThrow(
      expect.objectContaining({ code: 'TOKEN_INVALID', message: expect.stringContaining(why) }),
    );
  });
});
