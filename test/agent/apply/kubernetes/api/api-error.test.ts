import { describe, expect, it } from 'vitest';
import { isPassing, toApiError } from '../../../../../agent/apply/kubernetes/api/api-error.ts';

const SERVER = 'https://10.0.0.1:6443';
const apply = { verb: 'apply', what: 'ConfigMap shop/web', secret: false };
const secret = { verb: 'apply', what: 'Secret shop/web', secret: true };

describe('an answer that is no success', () => {
  it.each([
    [401, 'Unauthorized', 'API_DENIED'],
    [403, 'configmaps is forbidden: User "robot" cannot patch resource "configmaps"', 'API_DENIED'],
    [403, 'exceeded quota: few', 'CLUSTER_LACKS'],
    [403, 'denied by policy few', 'API_REFUSED'],
    [409, 'conflict', 'FIELD_CONFLICT'],
    [413, 'Request entity too large', 'API_REFUSED'],
    [422, 'Invalid value: 99999', 'API_REFUSED'],
    [500, 'failed to create typed patch object: .data.a: expected string', 'API_REFUSED'],
    [500, 'failed calling webhook "x": connection refused', 'WEBHOOK_UNREACHABLE'],
    [500, 'conversion webhook for a.example/v1, Kind=A failed: Post "https://x": EOF', 'WEBHOOK_UNREACHABLE'],
    [500, 'etcdserver: request is too large', 'API_REFUSED'],
    [500, 'Internal error occurred: failed to allocate a serviceIP: range is full', 'API_REFUSED'],
    [500, 'etcdserver: mvcc: database space exceeded', 'API_UNREACHABLE'],
    [507, 'no space left on device', 'API_UNREACHABLE'],
    [500, 'etcdserver: request timed out', 'API_UNREACHABLE'],
    [503, 'apiserver is shutting down', 'API_UNREACHABLE'],
    [429, 'too many requests', 'API_UNREACHABLE'],
  ])('%i %s is %s', (code, message, expected) => {
    expect(toApiError(code, { message }, apply, SERVER).code).toBe(expected);
  });

  it('is worth another try unless the server has judged the object or is full', () => {
    const passing = (code: number, message: string) => isPassing(code, { message });
    expect(passing(429, '')).toBe(true);
    expect(passing(503, '')).toBe(true);
    expect(passing(500, 'failed calling webhook "x": connection refused')).toBe(true);
    expect(passing(500, 'admission webhook "x" denied the request: no')).toBe(false);
    expect(passing(500, 'failed to create typed patch object')).toBe(false);
    expect(passing(500, 'etcdserver: mvcc: database space exceeded')).toBe(false);
    expect(passing(422, '')).toBe(false);
  });

  it('tells the same of an outage whatever was asked, so that it is news once', () => {
    const one = toApiError(503, { message: 'a' }, apply, SERVER).message;
    expect(toApiError(503, { message: 'b' }, secret, SERVER).message).toBe(one);
  });

  it('names the manager and field of every conflict', () => {
    const causes = [
      { reason: 'FieldManagerConflict', message: 'conflict with "hand"', field: '.spec.replicas' },
    ];
    const { message } = toApiError(409, { message: 'long', details: { causes } }, apply, SERVER);
    expect(message).toBe('ConfigMap shop/web was not applied: conflict with "hand" at .spec.replicas');
  });

  it('keeps what is wrong when the server quotes a whole pod template before it', () => {
    const body = `Invalid value: {"containers":[{"image":"${'x'.repeat(3000)}"}]}: field is immutable`;
    const causes = [{ reason: 'FieldValueInvalid', message: body, field: 'spec.template' }];
    const status = { message: `Job.batch "web" is invalid: spec.template: ${body}`, details: { causes } };
    const { message } = toApiError(422, status, apply, SERVER);
    expect(message).toMatch(
      /^ConfigMap shop\/web was not applied: Job\.batch "web" is invalid: spec\.template: /,
    );
    expect(message).toMatch(/field is immutable$/);
    expect(message.length).toBeLessThan(450);
    expect(toApiError(422, { message: `${'x'.repeat(5000)} the end` }, apply, SERVER).message).toMatch(
      /the end$/,
    );
  });

  it('says that a field of a secret cannot be changed, so that it can be made again', () => {
    const causes = [{ reason: 'FieldValueForbidden', message: 'field is immutable when ...', field: 'data' }];
    const said = 'Secret "web" is invalid: data: Forbidden: field is immutable when `immutable` is set';
    const status = { message: said, reason: 'Invalid', details: { causes } };
    expect(toApiError(422, status, secret, SERVER).message).toContain('field is immutable');
  });

  it.each([
    [
      '(shop/web; /v1, Kind=Secret): .data.pin: expected string, got &value{1234}',
      '.data.pin: expected string',
    ],
    [
      'Secret in version "v1" cannot be handled as a Secret: illegal base64 data at input byte 9',
      'illegal base64',
    ],
  ])('says which field of a secret is no text, not what it holds: %s', (said, expected) => {
    const { message } = toApiError(
      500,
      { message: `failed to create typed patch object ${said}` },
      secret,
      SERVER,
    );
    expect(message).toContain(expected);
    expect(message).not.toContain('1234');
  });

  it('never repeats what the server quotes of a secret', () => {
    const causes = [
      { reason: 'FieldValueInvalid', message: 'Invalid value: "tellnobody"', field: 'data[key]' },
    ];
    const status = {
      message: 'Secret "web" is invalid: data[key]: "tellnobody"',
      reason: 'Invalid',
      details: { causes },
    };
    const { message } = toApiError(422, status, secret, SERVER);
    expect(message).not.toContain('tellnobody');
    expect(message).toContain('data[key] (FieldValueInvalid)');
  });

  it('is one line of bounded length', () => {
    const { message } = toApiError(422, { message: `a\n\tb ${'x'.repeat(5000)}` }, apply, SERVER);
    expect(message).toMatch(/a b x/);
    expect(message.length).toBeLessThan(1200);
  });
});
