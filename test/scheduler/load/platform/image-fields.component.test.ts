import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatError } from '#bundles/errors';
import { imageRules } from '../../../../scheduler/assemble/images/image-rules.ts';
import { loadPlatform } from '../../../../scheduler/load/load-platform.ts';
import { problemsOf } from '../../../../scheduler/model/problems.ts';
import { temporaryDirectory, writeFiles } from '../../file-tree.ts';
import { fleetPlatform, ours } from '../../fleet-platform.ts';

const load = async (spec: string) => {
  const directory = await temporaryDirectory();
  await writeFiles(directory, {
    ...fleetPlatform(),
    'platform/base/operators.yaml': ours('ImageFields', 'operators', spec),
  });
  const options = {
    platform: join(directory, 'platform'),
    environment: 'qa',
    maps: [],
    cacheDirectory: join(directory, 'cache'),
    env: {},
  };
  try {
    return { platform: await loadPlatform(options), problems: [] };
  } catch (error) {
    return { problems: problemsOf(error).map((one) => formatError(one).replaceAll(`${directory}/`, '')) };
  }
};

test('an ImageFields object adds image fields to the known ones', async () => {
  const { platform, problems } = await load(`spec:
  fields:
    - {group: example.com, kind: Database, paths: ['$.spec.image', "$.spec['side cars'][*].image"]}
    - {kind: ConfigMap, parts: [{in: $.data, repository: repo, tag: tag}]}
  env: ['*_IMAGE']
  args: [--reloader-image]
  annotations: ['example.com/*']
  notImages:
    fields: [{group: example.com, kind: Photo, paths: [$.spec.image]}]
    env: [HELP_IMAGE]
    charts: ['*/helper:*']
`);
  expect(problems).toEqual([]);
  const rules = imageRules(platform?.imageFields);
  expect(
    rules.fieldsOf('example.com', 'Database').flatMap(({ paths }) => paths.map(({ text }) => text)),
  ).toEqual(['$.spec.image', "$.spec['side cars'][*].image"]);
  expect(rules.fieldsOf('', 'ConfigMap')).toHaveLength(1);
  expect(rules.fieldsOf('monitoring.coreos.com', 'Prometheus')).toHaveLength(1);
  expect(['A_IMAGE', 'RELATED_IMAGE_X', 'HELP_IMAGE', 'IMAGE'].map(rules.isImageEnv)).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(rules.isImageOption('--reloader-image')).toBe(true);
  expect(rules.isImageAnnotation?.('example.com/image')).toBe(true);
  expect(rules.isLeftOut('quay.io/helper:1')).toBe(true);
  expect(rules.notImagesOf('example.com', 'Photo')).toHaveLength(1);
});

test.each([
  [
    'fields: [{kind: Db, paths: [spec.image]}]',
    /base\/operators\.yaml:\d+:\d+: FIELD_INVALID: .*spec\.fields\[0\]\.paths\[0\] "spec\.image" does not begin with \$. Write a path like/,
  ],
  ['fields: [{kind: Db}]', /names no field of kind Db. Give it paths or parts/],
  ['fields: [{kind: db, paths: [$.a]}]', /"db" is not a valid kind/],
  [
    'fields: [{group: example.com/v1, kind: Db, paths: [$.a]}]',
    /"example\.com\/v1" is not a valid group of Kubernetes' API/,
  ],
  ["env: ['*']", /"\*" is not a valid pattern of names/],
  ['args: [reloader]', /"reloader" is not a valid option of a program/],
  ["env: ['a*b*c*d*e*f']", /is not a valid pattern of names/],
  ['paths: [$.a]', /UNKNOWN_FIELD/],
])('an invalid ImageFields object is refused: %s', async (spec, expected) => {
  expect((await load(`spec: {${spec}}\n`)).problems.join('\n')).toMatch(expected);
});
