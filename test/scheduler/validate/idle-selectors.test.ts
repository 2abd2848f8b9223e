import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { initPlatform } from '../../../scheduler/init/init-platform.ts';
import { validatePlatform } from '../../../scheduler/validate-platform.ts';
import { temporaryDirectory } from '../file-tree.ts';

const adviceAfter = async (file: string, from: string, to: string): Promise<readonly string[]> => {
  const directory = await temporaryDirectory();
  await initPlatform(directory, 'acme', new AbortController().signal);
  const text = await readFile(join(directory, file), 'utf8');
  expect(text).toContain(from);
  await writeFile(join(directory, file), text.replace(from, to));
  const { advice } = await validatePlatform({
    platform: directory,
    maps: [],
    cacheDirectory: join(directory, 'cache'),
    env: {},
  });
  return advice.map(({ subject, message, at }) => `${subject} ${at?.line}: ${message}`);
};

describe('a selector that finds nothing anywhere', () => {
  test('is told for a configuration, with the label that nobody has', async () => {
    expect(await adviceAfter('base/configs/everywhere.yaml', 'place: edge', 'place: egde')).toEqual([
      'edge 13: it selects by place=egde, which no cluster type and no deployment target has',
    ]);
  });

  test('is told for a policy, beside the target that then runs nowhere', async () => {
    const advice = await adviceAfter('base/policies/edge.yaml', 'runs: cluster', 'runs: clusters');
    expect(advice).toContain('SchedulingPolicy edge-clusters 2: the policy selects no deployment target');
  });

  test('is not told when another environment has what it is meant for', async () => {
    const twice = await adviceAfter(
      'apps/hello/workload/workload.yaml',
      '{name: cluster, environment: dev, labels: {runs: cluster}, manifests: {path: kubernetes}}',
      '{name: other, environment: dev, labels: {runs: host}, manifests: {path: host}}',
    );
    expect(twice.filter((line) => line.includes('selects no'))).toEqual([]);
  });
});
