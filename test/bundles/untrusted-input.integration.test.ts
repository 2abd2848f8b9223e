import { expect, it } from 'vitest';
import { supervise } from '../fuzz/supervise.ts';

/** The search for bad inputs, set on targets that are bad: it runs each in a thread, which takes its time. */
it.each([
  ['a crash', 'trap-crash', /^TypeError/],
  ['what was let through', 'trap-unsound', /^Unsound: it was let through/],
  ['a parser that does not come back', 'trap-hang', /did not end/],
  ['one that eats memory', 'trap-memory', /more than \d+ bytes/],
  ['one that ends the thread', 'trap-exit', /said nothing/],
])('the fuzzer reports %s', async (_, target, error) => {
  const deadline = target === 'trap-memory' ? undefined : { wallMs: 400, cpuMs: 100 };
  const { findings, cases } = await supervise(target, 1, 300, deadline);
  expect(cases).toBeGreaterThan(0);
  expect(findings[0]).toMatchObject({
    error: expect.stringMatching(error),
    input: Buffer.from('x'),
    number: 0,
  });
});

it('the fuzzer reports no finding for a sound reader', async () => {
  const { findings, cases, accepted } = await supervise('address', 1, 300);
  expect(findings).toEqual([]);
  expect(cases).toBeGreaterThan(accepted);
});
