import { expect, test } from 'vitest';
import type { AttestationFacts } from '../../../../../scheduler/hub/promote/facts/facts.ts';
import { isDueForCheck } from '../../../../../scheduler/hub/promote/judge/judge-check.ts';
import { condition, facts, judge, policy } from '../gate/gate-cases.ts';

const TYPE = 'https://spdx.dev/Document';
const rule = { type: TYPE, match: ['**'], except: [], keys: [] };
const wanting = policy({ attestations: [rule] });
const found = (more: Omit<AttestationFacts, 'type'>) => facts({ attestations: [{ type: TYPE, ...more }] });

test('an image without the required attestation closes the gate, and is named', () => {
  const verdict = judge(wanting, found({ images: 3, missing: ['registry.example/a (shop-web): none'] }));
  expect(verdict.state).toBe('waiting');
  expect(condition(verdict, `attestation ${TYPE}`)).toMatchObject({
    met: false,
    found: '2 of 3',
    holding: { count: 1, first: ['registry.example/a (shop-web): none'] },
    changedBy: ['release'],
  });
});

test.each([
  [{ images: 3, missing: [] }, '3 of 3'],
  [{ images: 0, missing: [] }, 'no image'],
])('a candidate whose images all have the attestation is ready: %j', (more, text) => {
  const verdict = judge(wanting, found(more));
  expect(verdict.state).toBe('ready');
  expect(condition(verdict, `attestation ${TYPE}`).found).toBe(text);
});

test('images that were not read count as not attested', () => {
  expect(judge(wanting, facts()).state).toBe('waiting');
});

test('a check is requested when only people, time and other checks are missing, not before agents and images are complete', () => {
  const check = { name: 'load-test', url: 'https://checks.example/', timeoutSeconds: 60 };
  const asked = (more: Parameters<typeof policy>[0], at = facts()) =>
    isDueForCheck(judge(policy({ checks: [check], ...more }), at));
  expect(asked({})).toBe(true);
  expect(asked({ soakSeconds: 400_000, approvals: { required: 2, from: [], notAuthor: true } })).toBe(true);
  expect(asked({ compliance: { of: 'reported', require: [], atLeast: 5 } })).toBe(false);
  expect(asked({}, facts({ channels: [] }))).toBe(false);
  expect(asked({ attestations: [rule] }, found({ images: 1, missing: ['a'] }))).toBe(false);
});
