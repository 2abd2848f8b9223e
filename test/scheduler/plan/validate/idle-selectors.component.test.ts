import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { FleetError } from '#bundles/errors';
import { initPlatform } from '../../../../scheduler/load/init/init-platform.ts';
import { validatePlatform } from '../../../../scheduler/views/validate-platform.ts';
import { temporaryDirectory } from '../../file-tree.ts';

const after = async (
  file: string,
  from: string,
  to: string,
): Promise<{ readonly problems: readonly string[]; readonly advice: readonly string[] }> => {
  const directory = await temporaryDirectory();
  await initPlatform(directory, 'acme', new AbortController().signal);
  const text = await readFile(join(directory, file), 'utf8');
  expect(text).toContain(from);
  await writeFile(join(directory, file), text.replace(from, to));
  const { problems, advice } = await validatePlatform({
    platform: directory,
    maps: [],
    cacheDirectory: join(directory, 'cache'),
    env: {},
  });
  const tell = ({ subject, message, at, hint }: FleetError): string =>
    `${subject} ${at?.line}: ${message}. ${hint}`;
  return { problems: problems.map(tell), advice: advice.map(tell) };
};

describe('a selector that matches nothing in any environment', () => {
  test('of a Config is a problem when a label is nearly right', async () => {
    const { problems, advice } = await after('base/configs/everywhere.yaml', 'place: edge', 'place: egde');
    expect(problems).toEqual([
      'edge 13: it selects by place=egde, which no cluster type and no deployment target has. It asks for place: egde. Did you mean place: edge?',
    ]);
    expect(advice).toEqual([]);
  });

  test('of a policy is a problem, together with the label of the target that is not assigned', async () => {
    const { problems } = await after('base/policies/edge.yaml', 'runs: cluster', 'runs: clusters');
    expect(problems).toEqual([
      ...[8, 9, 10].map(
        (line) =>
          `DeploymentTarget hello-cluster ${line}: no policy selects the label runs: cluster. Did you mean runs: clusters, as policy edge-clusters has it?`,
      ),
      'SchedulingPolicy edge-clusters 2: the policy selects no deployment target. It asks for runs: clusters. Did you mean runs: cluster?',
    ]);
  });

  test('of a policy is a problem when no cluster type has its label', async () => {
    const { problems } = await after('base/policies/edge.yaml', 'place: edge', 'palce: edge');
    expect(problems).toContainEqual(
      expect.stringContaining(
        'the policy selects no cluster type. It asks for the label palce. Did you mean place?',
      ),
    );
  });

  test.each(['elsewhere', 'edge-2'])(
    'is advice when it selects %s, which may be added later',
    async (place) => {
      const { problems, advice } = await after(
        'base/configs/everywhere.yaml',
        'place: edge',
        `place: ${place}`,
      );
      expect(problems).toEqual([]);
      expect(advice).toEqual([
        `edge 13: it selects by place=${place}, which no cluster type and no deployment target has. Its values apply to nothing; check the spelling`,
      ]);
    },
  );

  test('is not reported when another environment has a matching target', async () => {
    const { problems, advice } = await after(
      'apps/hello/workload/workload.yaml',
      '{name: cluster, environment: dev, labels: {runs: cluster}, manifests: {path: kubernetes}}',
      '{name: other, environment: dev, labels: {runs: host}, manifests: {path: host}}',
    );
    expect([...problems, ...advice].filter((line) => line.includes('selects no'))).toEqual([]);
  });
});
