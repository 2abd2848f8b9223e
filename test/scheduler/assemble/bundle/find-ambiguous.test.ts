import { expect, test } from 'vitest';
import { formatError } from '#bundles/errors';
import { findAmbiguous } from '../../../../scheduler/assemble/bundle/find-ambiguous.ts';
import { readKubernetesObjects } from '../../../../scheduler/model/kubernetes/kubernetes-object.ts';

const told = (data: string): readonly string[] =>
  findAmbiguous(
    readKubernetesObjects('a.yaml', `apiVersion: v1\nkind: ConfigMap\nmetadata: {name: web}\n${data}`, []),
  ).map(formatError);

test('the first word of a file that kubectl reads as a boolean is named with its place', () => {
  expect(told('data:\n  a: "no"\n  country: NO\n  debug: on # really\n')).toEqual([
    'a.yaml:6:12: VALUE_AMBIGUOUS: ConfigMap web: NO without quotes is text here and to Kustomize, and false to kubectl and Helm. Write "NO" if it is text, else false.',
  ]);
  expect(told('spec:\n- y\n')).toEqual([expect.stringContaining('a.yaml:5:3: VALUE_AMBIGUOUS')]);
  expect(told('spec: [a, Off]')).toEqual([expect.stringContaining('false to kubectl')]);
  expect(told('spec: {a: yes}')).toEqual([expect.stringContaining('true to kubectl')]);
});

test('keys, quoted words, blocks of text and longer words are not ambiguous', () => {
  expect(
    told(
      'data:\n  y: "1"\n  on: \'no\'\n  b: |\n    x: yes\n  c: on time\n  d: yEs\n  e: true\n  f: say no\n',
    ),
  ).toEqual([]);
});
