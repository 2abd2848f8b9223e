import { expect, it } from 'vitest';
import { parseRoles } from '../../../../scheduler/views/rights/parse-roles.ts';
import { told } from '../../told.ts';

const role = (name: string): string =>
  `apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: ${name}, namespace: shop}\nrules: []\n`;

it('roles are read from documents and from the list of kubectl, without objects of other kinds', () => {
  const documents = `${role('a')}---\nkind: Namespace\nmetadata: {name: shop}\n---\n${role('b')}`;
  expect(parseRoles(documents, 'rights.yaml').map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
  const list = `kind: List\nitems:\n- ${role('c').trim().replaceAll('\n', '\n  ')}\n`;
  expect(parseRoles(list, 'rights.yaml').map(({ metadata }) => metadata.name)).toEqual(['c']);
});

it.each(['', '---\n', 'kind: List\nitems: []\n'])('%j is a cluster without roles', (text) => {
  expect(parseRoles(text, 'rights.yaml')).toEqual([]);
});

it.each([
  ['another document', 'apiVersion: fleet-ferry/v1alpha1\nkind: Fleet\nmetadata: {name: acme}\n'],
  ['a text', 'hello world\n'],
  ['rules that are no list', 'kind: Role\nmetadata: {name: a}\nrules: all\n'],
])('%s is refused with the name of the file, and is no cluster without rights', (_, text) => {
  expect(() => parseRoles(text, 'other.yaml')).toThrow(
    expect.objectContaining({ code: 'FIELD_INVALID', at: { file: 'other.yaml' } }),
  );
});

it("parseRoles names the line of what is not YAML, without the parser's quotation", () => {
  expect(told(() => parseRoles('kind: Role\nmetadata: [\n', 'roles.yaml'))).toMatch(
    /^roles\.yaml:\d+:\d+: YAML_SYNTAX: this is not YAML: /,
  );
});
