import { createHmac } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import { describe, expect, it } from 'vitest';
import { verifyWebhook } from '../../../../scheduler/hub/webhook/verify-webhook.ts';

const SECRET = 'Zm9yIHRoZSByZXBvc2l0b3J5';
const BODY = Buffer.from('{"ref":"refs/heads/main"}');
const signed = (secret: string, body: Uint8Array = BODY): string =>
  createHmac('sha256', secret).update(body).digest('hex');
const basic = (text: string): string => `Basic ${Buffer.from(text).toString('base64')}`;

describe('a webhook', () => {
  it.each([
    ['github', { 'x-hub-signature-256': `sha256=${signed(SECRET)}` }],
    ['gitea', { 'x-gitea-signature': signed(SECRET) }],
    ['gitea', { 'x-forgejo-signature': signed(SECRET) }],
    ['gitlab', { 'x-gitlab-token': SECRET }],
    ['azure-devops', { authorization: basic(`hook:${SECRET}`) }],
    ['azure-devops', { authorization: basic(`:${SECRET}`).replace('Basic', 'basic') }],
    ['gitlab', { 'x-hub-signature-256': 'sha256=00', 'x-gitlab-token': SECRET }],
  ] as const)('of %s is accepted with %j', (sender, headers) => {
    expect(verifyWebhook(headers, BODY, SECRET)).toBe(sender);
  });

  it("is accepted with the signature of GitHub's own documentation example", () => {
    const headers = {
      'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    };
    expect(verifyWebhook(headers, Buffer.from('Hello, World!'), "It's a Secret to Everybody")).toBe('github');
  });

  it.each<[string, IncomingHttpHeaders]>([
    ['nothing', {}],
    ['another secret', { 'x-hub-signature-256': `sha256=${signed('another')}` }],
    ['another body', { 'x-hub-signature-256': `sha256=${signed(SECRET, Buffer.from('{}'))}` }],
    ['a signature without its name', { 'x-hub-signature-256': signed(SECRET) }],
    ['the old signature alone', { 'x-hub-signature': `sha1=${'0'.repeat(40)}` }],
    ['an empty token', { 'x-gitlab-token': '' }],
    ['the beginning of the secret', { 'x-gitlab-token': SECRET.slice(0, -1) }],
    ['another password', { authorization: basic('hook:wrong') }],
    ['the secret as the user name', { authorization: basic(SECRET) }],
    ['a bearer token', { authorization: `Bearer ${SECRET}` }],
  ])('with %s is refused', (_, headers) => {
    expect(() => verifyWebhook(headers, BODY, SECRET)).toThrow(
      expect.objectContaining({ code: 'TOKEN_INVALID' }) as Error,
    );
  });

  it('is refused when the secret is empty', () => {
    for (const headers of [{ 'x-gitlab-token': '' }, { 'x-gitea-signature': signed('') }])
      expect(() => verifyWebhook(headers, BODY, '')).toThrow(
        expect.objectContaining({ code: 'TOKEN_INVALID' }) as Error,
      );
  });
});
