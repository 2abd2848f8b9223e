import { expect, it } from 'vitest';
import { parseDocument } from 'yaml';
import { yamlFault } from '#bundles/json/yaml-fault';

it.each([
  '!hunter2 x',
  '!<hunter2> x',
  '!a!hunter2 x',
  '|hunter2',
  '>hunter2',
  '"\\hunter2"',
  '"\\xhunter2"',
  '"\\uhunter2"',
  '&hunter2x',
  '&hunter2 &hunter2 1',
  '%hunter2',
  '@hunter2',
  '`hunter2',
  'hunter2: hunter2',
  '"hunter2" hunter2',
  '[hunter2',
  '{hunter2: hunter2',
  "'hunter2",
  '- hunter2',
  '\thunter2: 1',
  '? hunter2',
  '%YAML hunter2\n---\na',
  '%TAG hunter2\n---\na',
])('yamlFault does not quote the value in the fault of %j', (value) => {
  for (const text of [`code: ${value}`, `code:\n  ${value}`, value]) {
    const { errors, warnings } = parseDocument(text, { prettyErrors: false });
    for (const { message } of [...errors, ...warnings]) expect(yamlFault(message)).not.toContain('hunt');
  }
});

it('yamlFault returns text for the end of a sentence, without position', () => {
  const [error] = parseDocument('a: "b', { prettyErrors: true }).errors;
  expect(yamlFault(error?.message ?? '')).toBe('missing closing "quote');
});

it('yamlFault names no function of the parser to who wrote a second document', () => {
  const [error] = parseDocument('a: 1\n---\nb: 2\n').errors;
  expect(yamlFault(error?.message ?? '')).toBe('a second document begins here, where only one is read');
});
