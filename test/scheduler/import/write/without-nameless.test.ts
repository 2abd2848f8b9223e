import { expect, test } from 'vitest';
import { holdsNameless, withoutNameless } from '../../../../scheduler/import/write/without-nameless.ts';

test('an object without a name is left out, also where the rest of the file is longer when it is written again', () => {
  const items = Array.from({ length: 50 }, (_, at) => `- {name: e${at}, value: a}`).join('\n');
  const text = `kind: Deployment\nmetadata: {name: web}\nenv:\n${items}\n---\nkind: Job\nmetadata: {generateName: once-}\n`;
  expect(holdsNameless('a.yaml', Buffer.from(text))).toBe(true);
  expect(withoutNameless(Buffer.from(text)).toString()).not.toContain('Job');
});

test('a file in which every object has a name keeps its bytes', () => {
  const bytes = Buffer.from('kind: Job\nmetadata: {generateName: once-, name: once}\n');
  expect(holdsNameless('a.yaml', bytes)).toBe(false);
  expect(withoutNameless(bytes)).toBe(bytes);
});
