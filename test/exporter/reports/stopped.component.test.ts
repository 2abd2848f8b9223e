import { linkSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { toFleetError } from '#bundles/errors';
import type { OpenMedium } from '#bundles/formats/medium/medium';
import { openFiles } from '#bundles/formats/medium/open-files';
import { findLeftovers } from '../../../exporter/reports/clean/find-leftovers.ts';
import { copyReports } from '../../../exporter/reports/copy-reports.ts';
import { listReports } from '../../../exporter/reports/list-reports.ts';
import { mediumAgents } from '../../../exporter/reports/medium-agents.ts';
import { NOW } from '../../harness/fleets/signed-fleet.ts';
import { makeKioskWorld } from '../world.ts';
import { agentDiary } from './agent-diary.ts';

const LINE = 'plant-7/line-1';
const COPIES = 400;
/** Reads after which the person asks the command to stop. */
const ENOUGH = 20;

/** A stick with many copies of a genuine report under names of a stranger. */
const crowded = async () => {
  const world = await makeKioskWorld();
  await world.export('stick', { sites: ['plant-7'] });
  const stick = world.path('stick');
  const path = await agentDiary(LINE, world.agent, 3).report(stick, 1, 3);
  for (let copy = 0; copy < COPIES; copy += 1)
    for (const ending of ['ndjson', 'sigstore.json'])
      linkSync(join(stick, `${path}.${ending}`), join(stick, path, '..', `junk-${copy}.${ending}`));
  return { ...world, stick };
};

type Reader = (medium: OpenMedium, folder: string, signal: AbortSignal) => Promise<unknown>;

const READERS: readonly (readonly [name: string, read: Reader])[] = [
  [
    'clean',
    (medium, _, signal) => findLeftovers(medium, mediumAgents(medium, undefined as never, NOW), signal),
  ],
  ['reports', (medium) => listReports(medium, undefined)],
  ['reports --to', (medium, folder) => copyReports(medium, folder)],
];

describe('a command on a medium with hundreds of junk reports', () => {
  for (const [name, read] of READERS)
    it(`O19: ${name} ends at the next read after SIGTERM -> ABORTED`, async () => {
      await using world = await crowded();
      const controller = new AbortController();
      await using medium = await openFiles(world.stick, { signal: controller.signal });
      let reads = 0;
      const counting: OpenMedium = {
        ...medium,
        readFile: (path, maxBytes) => {
          if (++reads === ENOUGH) controller.abort();
          return medium.readFile(path, maxBytes);
        },
      };
      const error = await read(counting, world.path('copies'), controller.signal).then(
        () => undefined,
        (cause: unknown) => toFleetError(cause),
      );
      expect(error?.code).toBe('ABORTED');
      expect(reads).toBeLessThan(ENOUGH + 2);
    });

  it('clean follows the chain of events, with any file names of the reports', async () => {
    await using world = await makeKioskWorld();
    await world.export('stick', { sites: ['plant-7'] });
    const stick = world.path('stick');
    const diary = agentDiary(LINE, world.agent, 60);
    const renamed: string[] = [];
    for (let seq = 1; seq <= 60; seq += 1) {
      const path = await diary.report(stick, seq, seq);
      const name = `a-${100 - seq}`;
      for (const ending of ['ndjson', 'sigstore.json']) {
        linkSync(join(stick, `${path}.${ending}`), join(stick, path, '..', `${name}.${ending}`));
        rmSync(join(stick, `${path}.${ending}`));
        if (seq <= 50) renamed.push(join(path, '..', `${name}.${ending}`));
      }
    }
    await diary.receipt(stick, 50, world.fleet.keys.receipt);
    await using medium = await openFiles(stick);
    const agentsOf = mediumAgents(medium, digestOf(world.fleet.roots[0] ?? ''), NOW);
    const { files } = await findLeftovers(medium, agentsOf);
    expect(files.map(({ path }) => path)).toEqual(renamed.toSorted());
    expect(readdirSync(join(stick, 'fleet/reports'))).toHaveLength(1);
  });
});
