import { describe, expect, it } from 'vitest';
import {
  type RequestSubject,
  isTransientStatus,
  toApiError,
} from '../../../../../agent/apply/kubernetes/api/api-error.ts';
import type { Status } from '../../../../../agent/apply/kubernetes/api/status.ts';
import { refusalOf } from '../../../../../agent/apply/kubernetes/api/refusal.ts';
import type { FleetError } from '../../../../../bundles/errors.ts';
import recorded from './recorded-refusals.json' with { type: 'json' };

const SERVER = 'https://10.0.0.1:6443';
const apply = { verb: 'apply', what: 'ConfigMap shop/web', secret: false };
const secret = { verb: 'apply', what: 'Secret shop/web', secret: true };

/** Answers of API servers of several versions: test/integration/kubernetes/refusals.test.ts asks for each again. */
const RECORDED = recorded as readonly {
  readonly title: string;
  readonly versions: readonly string[];
  readonly code: number;
  readonly status: Status;
}[];

const judge = (code: number, status: Status, doing: RequestSubject = apply): FleetError =>
  toApiError({ code, status, lacksRight: false }, doing, SERVER);

it('is recorded for every version of Kubernetes that the long run tests', () => {
  const versions = Map.groupBy(
    RECORDED.flatMap(({ title, versions }) => versions.map((version) => ({ title, version }))),
    ({ title }) => title,
  );
  const all = [...new Set(RECORDED.flatMap((one) => one.versions))].toSorted();
  expect(all.length).toBeGreaterThan(1);
  for (const [title, found] of versions)
    expect([title, found.map(({ version }) => version).toSorted()]).toEqual([title, all]);
});

/** The code for each recorded answer whose title begins so; the first that fits. */
const CODES: readonly (readonly [string, string])[] = [
  ['quota count', 'CLUSTER_LACKS'],
  ['quota', 'ADMISSION_DENIED'],
  ['limitrange', 'ADMISSION_DENIED'],
  ['podsecurity', 'ADMISSION_DENIED'],
  ['no service', 'ADMISSION_DENIED'],
  ['no priority', 'ADMISSION_DENIED'],
  ['no namespace', 'CLUSTER_LACKS'],
  ['no kind', 'CLUSTER_LACKS'],
  ['no resource', 'CLUSTER_LACKS'],
  ['namespace terminating', 'CLUSTER_LACKS'],
  ['policy', 'ADMISSION_DENIED'],
  ['webhook denies', 'ADMISSION_DENIED'],
  ['webhook patches', 'API_UNREACHABLE'],
  ['webhook', 'WEBHOOK_UNREACHABLE'],
  ['conversion', 'WEBHOOK_UNREACHABLE'],
  ['create twice', 'FIELD_CONFLICT'],
  ['apply conflict', 'FIELD_CONFLICT'],
  ['delete other uid', 'FIELD_CONFLICT'],
  ['put old version', 'FIELD_CONFLICT'],
  ['apiservice away', 'API_UNREACHABLE'],
  ['', 'API_REFUSED'],
];

describe('toApiError of an answer without success', () => {
  it.each(RECORDED.filter(({ title }) => title !== 'missing right'))(
    '$title becomes the expected code ($versions)',
    ({ title, code, status }) => {
      const [, expected] = CODES.find(([begin]) => title.startsWith(begin)) ?? [];
      expect(judge(code, status).code).toBe(expected);
    },
  );

  /** What is said to do about what an author wrote, by the title of the record. */
  const WAYS: Readonly<Record<string, string>> = {
    'port invalid': 'Correct spec.ports[0].port and spec.ports[0].targetPort in the package',
    'wrong type': 'Correct data.a in the package',
    'crd schema type': 'Correct spec.size in the package',
    'crd enum': 'Correct spec.mode in the package',
    'crd too long': 'Correct spec.name in the package',
    'unknown field':
      'Correct the name spec.replica, or install the version of Kubernetes or of the definition that has it',
    'dup list key': 'Keep one of the items with that key in spec.template.spec.containers[name="a"].env',
    'bad base64': 'Write the values of data in base64, or as text in stringData',
    'crd required': 'Add spec.size to the object in the package',
    'crd null': 'Leave spec out of the package, or write {} or [] for an empty value',
    'crd stored versions':
      'Keep that version in spec.versions (served: false hides it) until no object is stored in it and status.storedVersions no longer lists it',
    'too large map': 'Split it into several objects, or keep the large content outside of the cluster',
    'too large body': 'Split it into several objects, or keep the large content outside of the cluster',
    'too large custom': 'Split it into several objects, or keep the large content outside of the cluster',
    podsecurity:
      'Change in the package what it names, or have the owner of that rule of the cluster allow it',
    'webhook denies 500':
      'Change in the package what it names, or have the owner of that rule of the cluster allow it',
  };

  it.each(Object.entries(WAYS))('hints at the field to correct: %s', (title, way) => {
    const found = RECORDED.filter((one) => one.title === title);
    expect(found.map(({ code, status }) => judge(code, status).hint)).toEqual(found.map(() => way));
    expect(found).not.toEqual([]);
  });

  it.each(RECORDED.filter(({ code }) => code !== 409))(
    '$title has a hint without a full stop ($versions)',
    ({ code, status }) => {
      expect(judge(code, status).hint).toMatch(/^[A-Z].*[^.]$/);
      expect(judge(code, status, secret).hint).toBeDefined();
    },
  );

  it('hints at the owner of the admission rule when a deletion is denied', () => {
    const { code, status } = RECORDED.find(
      ({ title }) => title === 'webhook denies 403',
    ) as (typeof RECORDED)[0];
    expect(judge(code, status, { ...apply, verb: 'delete' }).hint).toBe(
      'Have the owner of that rule of the cluster allow it',
    );
  });

  it('is API_DENIED only when the server states that the account lacks a right', () => {
    const { code, status } = RECORDED.find(({ title }) => title === 'missing right') as (typeof RECORDED)[0];
    expect(toApiError({ code, status, lacksRight: true }, apply, SERVER).code).toBe('API_DENIED');
    const quota = RECORDED.find(({ title }) => title === 'quota count') as (typeof RECORDED)[0];
    expect(toApiError({ ...quota, lacksRight: true }, apply, SERVER).code).toBe('API_DENIED');
  });

  it('gives a cause only status, reason, kind, name and fields', () => {
    const { code, status } = RECORDED.find(
      ({ title }) => title === 'secret immutable',
    ) as (typeof RECORDED)[0];
    expect(refusalOf(judge(code, status))).toEqual({
      code: 422,
      reason: 'Invalid',
      causes: [{ reason: 'FieldValueForbidden', field: 'data' }],
      kind: 'Secret',
      name: 'im',
    });
  });

  it.each([
    [401, 'Unauthorized', 'API_DENIED'],
    [413, 'Request entity too large', 'API_REFUSED'],
    [500, 'Internal error occurred: failed to allocate a serviceIP: range is full', 'API_REFUSED'],
    [500, 'etcdserver: mvcc: database space exceeded', 'API_UNREACHABLE'],
    [507, 'no space left on device', 'API_UNREACHABLE'],
    [500, 'etcdserver: request timed out', 'API_UNREACHABLE'],
    [503, 'apiserver is shutting down', 'API_UNREACHABLE'],
    [429, 'too many requests', 'API_UNREACHABLE'],
  ])('%i %s is %s', (code, message, expected) => {
    expect(judge(code, { message }).code).toBe(expected);
  });

  it('names the conversion webhook of a kind that the server could not read into its cache', () => {
    const failed =
      'conversion webhook for tills.example/v1, Kind=Till failed: Post "https://10.0.0.1/": refused';
    const message = `storage is (re)initializing: failed to list tills.example/v2, Kind=Till: ${failed}`;
    expect(judge(429, { message, reason: 'TooManyRequests' })).toMatchObject({
      code: 'WEBHOOK_UNREACHABLE',
      message: expect.stringContaining('the conversion webhook for tills.example/v1, Kind=Till') as string,
    });
  });

  it('isTransientStatus is true unless the server judged the object or its storage is full', () => {
    const passing = (code: number, message: string) => isTransientStatus(code, { message });
    expect(passing(429, '')).toBe(true);
    expect(passing(503, '')).toBe(true);
    expect(passing(500, 'failed calling webhook "x": connection refused')).toBe(true);
    expect(passing(429, 'admission webhook "x" denied the request: too many')).toBe(false);
    expect(passing(500, 'admission webhook "x" denied the request: no')).toBe(false);
    expect(passing(500, 'failed to create typed patch object')).toBe(false);
    expect(passing(500, 'etcdserver: mvcc: database space exceeded')).toBe(false);
    expect(passing(422, '')).toBe(false);
  });

  it('has the same message for every request during an outage', () => {
    const one = judge(503, { message: 'a' }, apply).message;
    expect(judge(503, { message: 'b' }, secret).message).toBe(one);
  });

  it('names the manager and field of every conflict', () => {
    const causes = [
      { reason: 'FieldManagerConflict', message: 'conflict with "hand"', field: '.spec.replicas' },
    ];
    const { message } = judge(409, { message: 'long', details: { causes } });
    expect(message).toBe('ConfigMap shop/web was not applied: conflict with "hand" at .spec.replicas');
  });

  it('keeps the reason when the server quotes a whole pod template before it', () => {
    const body = `Invalid value: {"containers":[{"image":"${'x'.repeat(3000)}"}]}: field is immutable`;
    const causes = [{ reason: 'FieldValueInvalid', message: body, field: 'spec.template' }];
    const status = { message: `Job.batch "web" is invalid: spec.template: ${body}`, details: { causes } };
    const { message } = judge(422, status);
    expect(message).toMatch(
      /^ConfigMap shop\/web was not applied: Job\.batch "web" is invalid: spec\.template: /,
    );
    expect(message).toMatch(/field is immutable$/);
    expect(message.length).toBeLessThan(450);
    expect(judge(422, { message: `${'x'.repeat(5000)} the end` }).message).toMatch(/the end$/);
  });

  it('keeps "field is immutable" for a Secret, so that the Secret can be recreated', () => {
    const causes = [{ reason: 'FieldValueForbidden', message: 'field is immutable when ...', field: 'data' }];
    const said = 'Secret "web" is invalid: data: Forbidden: field is immutable when `immutable` is set';
    const status = { message: said, reason: 'Invalid', details: { causes } };
    expect(judge(422, status, secret).message).toContain('field is immutable');
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
  ])('names the field of a Secret whose value is not text, without the value: %s', (said, expected) => {
    const { message } = judge(500, { message: `failed to create typed patch object ${said}` }, secret);
    expect(message).toContain(expected);
    expect(message).not.toContain('1234');
  });

  it('never repeats a value of a Secret that the server quotes', () => {
    const causes = [
      { reason: 'FieldValueInvalid', message: 'Invalid value: "tellnobody"', field: 'data[key]' },
    ];
    const status = {
      message: 'Secret "web" is invalid: data[key]: "tellnobody"',
      reason: 'Invalid',
      details: { causes },
    };
    const { message } = judge(422, status, secret);
    expect(message).not.toContain('tellnobody');
    expect(message).toContain('data[key] (FieldValueInvalid)');
  });

  it('is one line of bounded length', () => {
    const { message } = judge(422, { message: `a\n\tb ${'x'.repeat(5000)}` });
    expect(message).toMatch(/a b x/);
    expect(message.length).toBeLessThan(1200);
  });
});
