import { expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { PREDICATES } from '#bundles/media-types';
import { signPayload } from '#bundles/trust/statements/sign-payload';
import { encodeStatement } from '#bundles/trust/statements/verify-statement';
import { generatePrivateKey, loadSigningKey } from '#bundles/trust/keys/key';
import { limitHeld, limitSources } from '../../../../scheduler/release/write/limit-statement.ts';

const source = (role: string) => ({
  role,
  repo: `https://git.example/${role}`,
  path: 'workload',
  tree: digestOf(role),
});
const held = (at: number) => ({
  assignment: `app-${at}`,
  code: 'TEMPLATE_FAILED',
  message: `${'a long story '.repeat(60)}${at}`,
  at: { file: 'platform/base/templates/x.yaml', line: at + 1 },
});
const many = <T>(count: number, make: (at: number) => T): readonly T[] =>
  Array.from({ length: count }, (_, at) => make(at));

test('limitSources and limitHeld keep all sources and held assignments of a small fleet', () => {
  const sources = [source('platform'), ...many(40, (at) => source(`workload/app-${at}`))];
  expect(limitSources(sources)).toBe(sources);
  const lines = many(3, held);
  expect(limitHeld(lines)).toBe(lines);
});

test("limitSources keeps only the platform's sources of a large fleet", () => {
  const sources = [
    source('base/main'),
    source('platform'),
    ...many(500, (at) => source(`workload/app-${at}`)),
    ...many(500, (at) => source(`application/app-${at}`)),
  ];
  expect(limitSources(sources).map(({ role }) => role)).toEqual(['base/main', 'platform']);
});

test('limitHeld truncates hundreds of held assignments, and counts the rest in its last line', () => {
  const all = many(500, held);
  const fitted = limitHeld(all);
  expect(fitted.length).toBeLessThan(500);
  expect(fitted[0]?.message).toHaveLength(200);
  expect(fitted.at(-1)).toMatchObject({
    assignment: `app-${fitted.length - 1}`,
    message: `this and ${500 - fitted.length} more assignments are held`,
  });
});

test('a truncated statement can be signed', async () => {
  const predicate = {
    fleet: 'f'.repeat(63),
    environment: 'e'.repeat(63),
    clusterType: 'c'.repeat(63),
    kind: 'kubernetes',
    candidate: digestOf(''),
    builder: 'b'.repeat(255),
    builtAt: '2026-11-21T08:00:00Z',
    sources: limitSources(many(500, (at) => source(`base/${'ä'.repeat(30)}${at}`))),
    held: limitHeld(many(500, held)),
  };
  const payload = encodeStatement([{ name: 'bundle', digest: digestOf('') }], PREDICATES.bundle, predicate);
  expect((await signPayload(payload, loadSigningKey(generatePrivateKey()))).byteLength).toBeGreaterThan(
    40_000,
  );
});
