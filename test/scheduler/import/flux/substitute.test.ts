import { expect, test } from 'vitest';
import {
  substituteFile,
  substituteManifest,
  substituteText,
} from '../../../../scheduler/import/flux/substitute.ts';

const found = () => ({ missing: new Set<string>(), unknown: new Set<string>() });

test.each([
  ['a ${name} b', 'a shop b'],
  ['${name:-other}', 'shop'],
  ['${none:-other}', 'other'],
  ['${none:=other}', 'other'],
  ['${empty:-other}', 'other'],
  ['${empty-other}', ''],
  ['$${name}', '${name}'],
  ['$name', '$name'],
  ['${none}', ''],
])('%s becomes %j, as in Flux', (text, expected) => {
  expect(substituteText(text, { name: 'shop', empty: '' }).text).toBe(expected);
});

test('a function of envsubst stays unchanged and is named', () => {
  expect(substituteText('${name^^}', { name: 'a' })).toMatchObject({
    text: '${name^^}',
    unknown: ['${name^^}'],
  });
});

test('a value that is one variable gets the type of its text, as Flux reads the result again', () => {
  const manifest = { spec: { replicas: '${n}', text: 'v${n}', quoted: '${t}' } };
  const variables = { n: '3', t: '"3"' };
  expect(substituteManifest(manifest, variables, found())).toEqual({
    spec: { replicas: 3, text: 'v3', quoted: '3' },
  });
});

test('a number is the one that Go reads, and other numbers of the file stay unchanged', () => {
  const text = 'mode: 0644\nown: ${mode}\nname: v${mode}\n';
  expect(substituteFile('a.yaml', Buffer.from(text), { mode: '0755' }).toString()).toBe(
    'mode: 0644\nown: 493\nname: v0755\n',
  );
});

test('an object with the annotation stays unchanged, and a variable without a value is named', () => {
  const off = {
    metadata: { annotations: { 'kustomize.toolkit.fluxcd.io/substitute': 'disabled' } },
    data: { a: '${a}' },
  };
  const names = found();
  expect(substituteManifest(off, {}, names)).toEqual(off);
  substituteManifest({ data: { a: '${a}' } }, {}, names);
  expect([...names.missing]).toEqual(['a']);
});

test('a file keeps its comments and gives the same values as the object', () => {
  const text = '# Why.\nspec:\n  replicas: ${n} # how many\n  home: $${HOME}\n  script: |\n    echo ${n}\n';
  expect(substituteFile('a.yaml', Buffer.from(text), { n: '3' }).toString()).toBe(
    '# Why.\nspec:\n  replicas: 3 # how many\n  home: ${HOME}\n  script: |\n    echo 3\n',
  );
  expect(substituteFile('a.txt', Buffer.from('n=${n}'), { n: '3' }).toString()).toBe('n=3');
});
