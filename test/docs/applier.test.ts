import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CARD, writeCard } from '../conformance/card.ts';
import { LINES } from '../conformance/lines.ts';

const TESTS = join(import.meta.dirname, '..');

test('the page of the applier is that of the list (npm run conformance -- --write)', () => {
  expect(readFileSync(join(TESTS, '..', CARD), 'utf8')).toBe(writeCard(LINES));
});

test('each line of the applier has a test or a reason, and its tests exist', () => {
  const sources = readdirSync(TESTS, { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.ts') && !path.startsWith('conformance'))
    .map((path) => readFileSync(join(TESTS, path), 'utf8'));
  expect(LINES.filter(({ tests = [], miss }) => tests.length === 0 && miss === undefined)).toEqual([]);
  const all = LINES.flatMap(({ tests = [] }) => tests);
  expect(all.filter(([file]) => !readFileSync(join(TESTS, file), 'utf8').includes('vitest'))).toEqual([]);
  expect(all.filter(([, title]) => !sources.some((text) => text.includes(title)))).toEqual([]);
  expect(new Set(LINES.map(({ id }) => id)).size).toBe(LINES.length);
});
