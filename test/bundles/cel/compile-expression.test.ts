import { expect, it } from 'vitest';
import { loadCel } from '#bundles/cel/compile-expression';

const compileExpression = await loadCel();

const cluster = {
  apiVersion: 'databases.example/v1',
  kind: 'Database',
  metadata: { name: 'orders', generation: 3, labels: { tier: 'gold' } },
  spec: { replicas: 3 },
  status: {
    phase: 'Running',
    readyReplicas: 2,
    conditions: [
      { type: 'Ready', status: 'False', observedGeneration: 3 },
      { type: 'Synced', status: 'True', observedGeneration: 2 },
    ],
  },
};

it.each([
  ["status.phase == 'Running'", true],
  ['status.readyReplicas == spec.replicas', false],
  ['status.readyReplicas + 1 == spec.replicas', true],
  ["status.conditions.filter(e, e.type == 'Ready').all(e, e.status == 'True')", false],
  ["status.conditions.exists(e, e.type == 'Synced' && e.observedGeneration < metadata.generation)", true],
  ["has(status.message) && status.message.contains('failed')", false],
  ["metadata.labels['tier'] in ['gold', 'silver'] ? status.readyReplicas >= 2 : true", true],
  ["metadata.name.matches('^ord')", true],
])('answers %s as CEL does', (text, answer) => {
  expect(compileExpression(text)(cluster)).toBe(answer);
});

it.each([
  ['has(status.message)', true],
  ["'message' in status", true],
  ['status.message == null', true],
  ['has(status.reason)', false],
  ['double(status.load) == 0.5 && int(status.port) == 80 && uint(status.port) == 80u', true],
  ['double(status.most) > 1e300', true],
])('answers %s of null and of texts as Kubernetes and Flux do', (text, answer) => {
  const status = { message: null, load: '.5', port: '80', most: '+Inf' };
  expect(compileExpression(text)({ status })).toBe(answer);
});

it.each([
  "double('5%') <= 5.0",
  "double('') <= 5.0",
  "double('1e400') > 5.0",
  "int('') == 0",
  "int(' 1') == 1",
  "int('0x1F') == 31",
  "int('9223372036854775808') > 0",
  "int('-9223372036854775809') < 0",
  "uint('') == 0u",
  "uint('+5') == 5u",
  "uint('18446744073709551616') > 0u",
])('has no answer to %s: the text has another form', (text) => {
  expect(compileExpression(text)({})).toEqual({
    why: expect.stringMatching(/the text is not a (whole )?number|overflow/),
  });
});

it.each([
  ['double(status.text) > 1.0', 'digits', '1'.repeat(100_000)],
  ['double(status.text) > 1.0', 'digits and a letter', `${'1'.repeat(100_000)}x`],
  ['double(status.text) > 1.0', 'a fraction and a letter', `1.${'1'.repeat(100_000)}x`],
  ['int(status.text) > 1', 'digits', '9'.repeat(1_000_000)],
  ['int(status.text) > 1', 'zeros and a letter', `${'0'.repeat(1_000_000)}x`],
  ['uint(status.text) > 1u', 'digits', '9'.repeat(1_000_000)],
])('has no answer to %s of a long text of %s, in time linear in the text', (text, _, number) => {
  const begin = process.cpuUsage();
  expect(compileExpression(text)({ status: { text: number } })).toEqual({
    why: expect.stringMatching(/not a (whole )?number|overflow/),
  });
  expect(process.cpuUsage(begin).user / 1e6).toBeLessThan(1);
});

it('reads a whole number with zeros before it', () => {
  const status = { text: `-${'0'.repeat(100)}7`, most: `${'0'.repeat(100)}18446744073709551615` };
  const text = 'int(status.text) == -7 && uint(status.most) == 18446744073709551615u';
  expect(compileExpression(text)({ status })).toBe(true);
});

it.each([
  ["status.failure == 'x'", 'failure'],
  ['spec.replicas', 'neither true nor false'],
  ["spec.replicas + 'x' == 'y'", 'overload'],
])('has no answer to %s, with the reason', (text, why) => {
  expect(compileExpression(text)(cluster)).toEqual({ why: expect.stringContaining(why) });
});

it.each([
  ['status.phase = 1', /^line 1:14/],
  ["staus.phase == 'Running'", '"staus", which is not a field of an object'],
  ["status.phase.trimmed() == 'Running'", 'calls trimmed(), which CEL does not have'],
  ['fleet_within_steps(true)', 'calls fleet_within_steps()'],
  [`status.phase == '${'x'.repeat(3000)}'`, 'more than 2048 characters'],
])('refuses %s', (text, message) => {
  expect(() => compileExpression(text)).toThrow(message);
});

it('suggests the field for a misspelt one', () => {
  expect(() => compileExpression('statu.phase == 1')).toThrow(
    expect.objectContaining({ code: 'FIELD_INVALID', hint: expect.stringContaining('status') }),
  );
});

it.each([
  'status.list.all(a, status.list.all(b, status.list.all(c, a + b + c >= 0)))',
  'status.list.map(a, status.list.map(b, status.list)).size() > 0',
  'status.list.exists(a, status.list.exists(b, status.missing > 1)) || true',
])('stops %s after a number of steps, and has no answer', (text) => {
  const status = { list: Array.from({ length: 2000 }, (_, index) => index) };
  expect(compileExpression(text)({ status })).toEqual({ why: 'it takes more than 5000 steps' });
  expect(compileExpression(text)({ status: { list: [] } })).toEqual(expect.any(Boolean));
});

it('takes fewer steps on a large object, as each may search all of it', () => {
  const list = Array.from({ length: 4000 }, (_, index) => `text-${index}`);
  expect(compileExpression('data.list.all(one, one in data.list)')({ data: { list } })).toEqual({
    why: expect.stringMatching(/^it takes more than 10\d\d steps$/) as string,
  });
  const status = { conditions: [{ type: 'Ready', status: 'True' }] };
  const isReady = compileExpression('status.conditions.exists(one, one.type == "Ready")');
  expect(isReady({ data: { list }, status })).toBe(true);
});

it('takes time linear in the text for a regular expression that others backtrack in', () => {
  const name = `${'a'.repeat(20_000)}b`;
  expect(compileExpression("metadata.name.matches('^(a+)+$')")({ metadata: { name } })).toBe(false);
});

it('has no answer for an object that is deeper than the stack', () => {
  let deep: unknown = 1;
  for (let index = 0; index < 100_000; index++) deep = [deep];
  expect(compileExpression('size(status.deep) > 0')({ status: { deep } })).toEqual({
    why: expect.any(String),
  });
});
