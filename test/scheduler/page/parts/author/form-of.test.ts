import { globSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { formOf, objectOf } from '../../../../../scheduler/page/parts/author/form-of.ts';
import { kebab } from '../../../../../scheduler/author/place/choose-file.ts';

type Written = {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
};

const KINDS = ['ClusterType', 'WorkloadRegistration', 'SchedulingPolicy', 'Config', 'Template'];

const WRITTEN = globSync(
  '{examples/platform,scheduler/load/init/scaffold}/{base,environments}/**/*.yaml',
).flatMap((file) =>
  parseAllDocuments(readFileSync(file, 'utf8')).map((document) => document.toJS() as Written),
);

test.each(KINDS)('the form of a %s gives back every object of the example unchanged', (kind) => {
  const schema = JSON.parse(readFileSync(`docs/schemas/author/${kebab(kind)}.schema.json`, 'utf8')) as object;
  const form = formOf(schema, false);
  const objects = WRITTEN.filter((one) => one.kind === kind);
  expect(objects.length).toBeGreaterThan(0);
  for (const object of objects)
    expect(objectOf(object, form, form.toForm(object), { ...object })).toEqual(object);
});

test('an empty field is left out, and text that is not YAML is refused', () => {
  const schema = JSON.parse(readFileSync('docs/schemas/author/cluster-type.schema.json', 'utf8')) as object;
  const form = formOf(schema, true);
  const about = { apiVersion: 'fleet-ferry/v1alpha1', kind: 'ClusterType' };
  expect(objectOf(about, form, { name: 'line', labels: ' ', spec: { target: '' } })).toEqual({
    ...about,
    metadata: { name: 'line' },
    spec: {},
  });
  expect(() => objectOf(about, form, { name: 'line', labels: 'a: [' })).toThrow(/flow|sequence|\[/i);
});
