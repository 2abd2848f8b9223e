import { cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { createBuildMemory } from '../../../../scheduler/assemble/incremental/build-memory.ts';
import { buildStep } from '../../../../scheduler/hub/watch/build-step.ts';
import { readPromotion } from '../../../../scheduler/hub/promote/facts/link.ts';
import type { FreshnessPolicy } from '../../../../scheduler/model/promotion.ts';
import type { Configuration } from '../../../../scheduler/settings/configuration.ts';
import { temporaryDirectory } from '../../../harness/run/temporary-directory.ts';

const POLICY = `apiVersion: fleet-ferry/v1alpha1
kind: FreshnessPolicy
metadata: { name: monthly-stick }
spec: { environment: prod, late: 35d, stale: 70d }
`;

const platformWith = async (folder: string, policy: string): Promise<string> => {
  const platform = join(folder, 'platform');
  await cp('examples/platform', platform, { recursive: true });
  await mkdir(join(platform, 'promotion'), { recursive: true });
  await writeFile(join(platform, 'promotion/freshness.yaml'), policy);
  return platform;
};

/** Policies that a build step hands over, and the warnings that it logs. The build has no layout, and so fails. */
const buildWith = async (platform: string, cache: string) => {
  const kept: (readonly FreshnessPolicy[])[] = [];
  const warned: object[] = [];
  const { failure } = await buildStep(
    {
      configuration: { platform, cache, maps: [] } as unknown as Configuration,
      env: {},
      cwd: process.cwd(),
      clock: () => new Date('2026-11-21T08:00:00Z'),
      log: { info: () => {}, warn: (fields: object) => void warned.push(fields), error: () => {} },
      random: () => 0,
      keepPolicies: async ({ freshnessPolicies }) => void kept.push(freshnessPolicies),
    },
    createBuildMemory(),
    new AbortController().signal,
  );
  return { kept, warned, failure };
};

it("the loop stores the platform's freshness policies after each build, also after a failed one", async () => {
  await using folder = await temporaryDirectory('freshness');
  const platform = await platformWith(folder.path, POLICY);
  const { kept, warned, failure } = await buildWith(platform, join(folder.path, 'cache'));
  expect(failure?.code).toBe('USAGE');
  expect(warned).toEqual([]);
  expect(kept).toMatchObject([
    [{ name: 'monthly-stick', environment: 'prod', lateSeconds: 3_024_000, staleSeconds: 6_048_000 }],
  ]);
});

it('the loop keeps the stored policies when one has an error, and logs its position', async () => {
  await using folder = await temporaryDirectory('freshness');
  const platform = await platformWith(folder.path, POLICY.replace('stale: 70d', 'stale: 7d'));
  const cacheDirectory = join(folder.path, 'cache');
  const options = { platform, maps: [], cacheDirectory, signal: new AbortController().signal };
  await expect(readPromotion(options)).rejects.toMatchObject({
    at: { file: expect.stringMatching(/promotion\/freshness.yaml$/), line: 4 },
  });
  const { kept, warned } = await buildWith(platform, cacheDirectory);
  expect(kept).toEqual([]);
  expect(warned).toMatchObject([{ at: expect.stringContaining('promotion/freshness.yaml:4') }]);
});
