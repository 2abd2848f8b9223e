import { join } from 'node:path';
import { expect, test } from 'vitest';
import { formatError } from '../../../bundles/errors.ts';
import { validatePlatform } from '../../../scheduler/platform/validate-platform.ts';
import { temporaryDirectory, writeFiles } from '../file-tree.ts';
import { fleetPlatform, ours } from '../fleet-platform.ts';

const validate = async (more: Readonly<Record<string, string>>) => {
  const directory = await temporaryDirectory();
  await writeFiles(directory, { ...fleetPlatform(), ...more });
  const found = await validatePlatform({
    platform: join(directory, 'platform'),
    maps: [],
    cacheDirectory: join(directory, 'cache'),
    env: {},
  });
  const said = (errors: readonly Parameters<typeof formatError>[0][]) =>
    errors.map((error) => formatError(error).replaceAll(`${directory}/`, ''));
  return { ...found, problems: said(found.problems), advice: said(found.advice) };
};

test('a sound platform has no problems in any of its environments', async () => {
  expect(await validate({})).toEqual({ environments: ['qa', 'prod'], problems: [], advice: [] });
});

test('what the applications bring is judged as build would, and a target for no environment is told', async () => {
  const found = await validate({
    'apps/shop/host/package.yaml': ours('HostPackage', 'web', 'spec:\n  directories: [{path: opt/web}]\n'),
    'apps/shop/deploy/shop.yaml': ours(
      'Workload',
      'shop',
      'spec:\n  deploymentTargets:\n    - {name: web, environment: qa, manifests: {path: host}}\n    - {name: web, environment: prd}\n',
    ),
  });
  expect(found.problems).toEqual([
    'apps/shop/host/package.yaml:6:24: FIELD_INVALID: HostPackage: spec.directories[0].path "opt/web" is no absolute path on a host. Write it like /etc/app/app.conf, without . and ..',
  ]);
  expect(found.advice).toEqual([
    'apps/shop/deploy/shop.yaml:8:7: REFERENCE_MISSING: Workload shop: target web is for the environment prd, which the fleet does not have. It has qa, prod.',
  ]);
});

test('one environment’s mistakes do not hide another’s, and what both have is told once', async () => {
  const found = await validate({
    'platform/base/edge.yaml': ours(
      'ClusterType',
      'edge',
      '  labels: {region: eu}\nspec: {configType: confmap}\n',
    ),
    'platform/base/schema.yaml': ours(
      'ConfigSchema',
      'db',
      'spec:\n  schema: {properties: {DB: {properties: {size: {maximum: 5}}}}}\n',
    ),
    'platform/environments/qa/bad.yaml': ours('Config', 'bad', 'spec: {value: {}}\n'),
  });
  expect(found.problems).toEqual([
    'platform/environments/qa/bad.yaml:5:8: UNKNOWN_FIELD: Config bad: spec has no field "value". It may have selector, values.',
    'platform/environments/qa/bad.yaml:5:7: FIELD_INVALID: Config bad: spec.values is missing',
    'platform/environments/prod/config.yaml:6:12: CONFIG_SCHEMA: edge/shop-web: DB.size must be <= 5 (schema db). Change the value, or the schema.',
    'platform/environments/prod/config.yaml:6:12: CONFIG_SCHEMA: press/shop-web: DB.size must be <= 5 (schema db). Change the value, or the schema.',
  ]);
});

test('a mistake in base/ is told once, not once an environment', async () => {
  const found = await validate({
    'platform/base/edge.yaml': ours(
      'ClusterType',
      'edge',
      '  labels: {region: eu}\nspec: {configType: confmap}\n',
    ),
  });
  expect(found.problems).toEqual([
    'platform/base/edge.yaml:6:20: REFERENCE_MISSING: ClusterType edge: there is no Template confmap, which configType names. Write that Template, or name another one.',
  ]);
});
