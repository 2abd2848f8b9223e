import { mkdir, readFile, symlink } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { findAirGap } from '../../harness/fleets/air-gap.ts';
import { shellProgram } from '../../harness/run/shell-program.ts';
import { SKIPPED } from '../../harness/run/count-results.ts';
import { temporaryDirectory } from '../../harness/run/temporary-directory.ts';
import { firstUntrue, inThisRun, type Known } from '../media/air-gap-page/match-output.ts';
import { type Place, startPlace } from '../media/air-gap-page/start-place.ts';
import { keepProgram } from '../media/air-gap-page/keep-program.ts';
import { readTypedPage, type TypedBlock } from '../media/air-gap-page/typed-page.ts';
import { writePrograms } from '../media/air-gap-page/write-programs.ts';

const ROOT = join(import.meta.dirname, '../../..');
/** What the page calls the folder of the office. */
const HOME = '/srv/office';
const AUTHOR = { NAME: 'Halden Foods', EMAIL: 'platform@halden.example' };

const blocks = readTypedPage(await readFile(join(ROOT, 'docs', 'promotion-walk.md'), 'utf8'));

const gap = findAirGap();

describe.skipIf(!gap.present)(
  `the page from dev to prod${gap.present ? '' : `${SKIPPED}${gap.reason})`}`,
  () => {
    const known: Known = new Map();
    /** Each block continues from the one before. */
    let broken = false;
    const cleanup = new AsyncDisposableStack();
    let places: Readonly<Record<TypedBlock['place'], Place>>;

    beforeAll(async () => {
      const folder = cleanup.use(await temporaryDirectory('promotion-walk'));
      const at = (...names: readonly string[]): string => join(folder.path, ...names);
      for (const name of ['office', 'plant', 'plant-bin', join('media', 'stick')])
        await mkdir(at(name), { recursive: true });
      await writePrograms(at('bin'));
      await symlink(ROOT, at('office', 'fleet-ferry'));
      const people = Object.entries(AUTHOR).flatMap(([field, value]) => [
        [`GIT_AUTHOR_${field}`, value],
        [`GIT_COMMITTER_${field}`, value],
      ]);
      const env = {
        ...Object.fromEntries(people),
        PATH: [at('bin'), process.env['PATH']].join(delimiter),
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
      };
      const mounts = [{ from: at('media'), to: '/media' }];
      places = {
        office: cleanup.use(await startPlace({ home: at('office'), mounts, network: true, env })),
        plant: cleanup.use(
          await startPlace({
            home: at('plant'),
            mounts,
            network: false,
            env: { ...env, PATH: [at('plant-bin'), env.PATH].join(delimiter) },
          }),
        ),
      };
      const scheduler = cleanup.use(keepProgram(places.office, 'test/harness/run/scheduler-lines.ts'));
      cleanup.use(await shellProgram(at('bin'), 'fleet-scheduler', scheduler, places.office.env));
      const agent = cleanup.use(keepProgram(places.plant, 'test/harness/run/agent-lines.ts'));
      cleanup.use(await shellProgram(at('plant-bin'), 'fleet-agent', agent, places.plant.env));
    });
    afterAll(() => cleanup.disposeAsync());

    blocks.forEach(({ script, shown, heading, place: where }, index) => {
      it(`runs and prints what it shows: block ${index + 1}, ${heading}`, async ({ skip }) => {
        skip(broken, 'a block before it is not true');
        broken = true;
        const place = places[where];
        const { code, stdout: typed } = await place.type(inThisRun(script, known));
        const stdout = typed.replaceAll(place.env['HOME'] ?? '', HOME);
        expect({ code, said: code === 0 ? '' : stdout }).toEqual({ code: 0, said: '' });
        const untrue = firstUntrue(shown, stdout, known);
        expect(untrue, `is on the page, and what came out is\n${stdout}`).toBeUndefined();
        broken = false;
      });
    });

    it('shows a gate that a medium opened, and a log with the names of the deciders', () => {
      const shown = blocks.flatMap((block) => block.shown).join('\n');
      expect(shown).toMatch(/plant-q\/oven-1: it never reported[^]*compliance {2}1 of 1, 100 %/);
      expect(shown).toMatch(/prod complies[^]*approval .* by carla[^]*promotion 1 from qa .* by ben/);
    });
  },
);
