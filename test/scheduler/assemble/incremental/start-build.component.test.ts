import { expect, test } from 'vitest';
import { KNOWN_FIELDS } from '../../../../scheduler/assemble/images/known-fields.ts';
import { memoryOf, createBuildMemory } from '../../../../scheduler/assemble/incremental/build-memory.ts';
import { internPlatform } from '../../../../scheduler/assemble/incremental/intern-platform.ts';
import { startBuild } from '../../../../scheduler/assemble/incremental/start-build.ts';
import { loadPlatform } from '../../../../scheduler/load/load-platform.ts';
import type { Platform } from '../../../../scheduler/model/model.ts';
import { temporaryDirectory, writeFiles } from '../../file-tree.ts';
import { fleetPlatform } from '../../fleet-platform.ts';

test('prepared manifests are dropped when the ImageFields change, and only then', async () => {
  const directory = await temporaryDirectory();
  await writeFiles(directory, fleetPlatform());
  const load = (): Promise<Platform> =>
    loadPlatform({
      platform: `${directory}/platform`,
      environment: 'qa',
      maps: [],
      cacheDirectory: directory,
      env: {},
    });
  const memory = memoryOf(createBuildMemory(), await load());
  const start = (platform: Platform) => startBuild(memory, internPlatform(memory.platform, platform), []);
  const first = start(await load());
  expect(start(await load())).toBe(first);
  const described = start({ ...(await load()), imageFields: [KNOWN_FIELDS] });
  expect(described).not.toBe(first);
  expect(start({ ...(await load()), imageFields: [structuredClone(KNOWN_FIELDS)] })).toBe(described);
});
