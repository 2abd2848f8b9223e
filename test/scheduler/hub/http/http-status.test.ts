import { expect, test } from 'vitest';
import { type ErrorCode, FleetError } from '#bundles/errors';
import { toHttpRefusal } from '../../../../scheduler/hub/http/http-status.ts';

test.each<[ErrorCode, number]>([
  ['SIGNER_UNREACHABLE', 503],
  ['SIGNER_REFUSED', 500],
  ['NOT_NEWER', 500],
])('a fault of the signer (%s) is a retryable server error that reveals no path', (code, status) => {
  const refusal = toHttpRefusal(new FleetError(code, 'no signer answers at /run/fleet-signer/socket'));
  expect(refusal).toMatchObject({ status, body: { code }, retryAfter: 5 });
  expect(refusal.body.message).not.toContain('/run');
});

test('a used token is 401 with its reason', () => {
  expect(toHttpRefusal(new FleetError('TOKEN_INVALID', 'the token was used'))).toMatchObject({
    status: 401,
    body: { message: 'the token was used' },
  });
});
