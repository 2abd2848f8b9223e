import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { canonicalBytes } from '#bundles/json/canonical';
import { type Digest, digestOf } from '#bundles/digest';
import { agentFolder, REQUESTS_FOLDER } from '#bundles/formats/medium/medium';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { partName } from '#bundles/formats/medium/parts/part';
import { addDays, formatTime } from '#bundles/time';
import { findLeftovers } from '../../../../exporter/reports/clean/find-leftovers.ts';
import { removeLeftovers } from '../../../../exporter/reports/clean/remove-leftovers.ts';
import { mediumAgents } from '../../../../exporter/reports/medium-agents.ts';
import { NOW } from '../../../harness/fleets/signed-fleet.ts';
import { filesOf } from '../../files-of.ts';
import { refused } from '../../refused.ts';
import { agentDiary } from '../agent-diary.ts';
import { makeKioskWorld, type World } from '../../world.ts';

const LINE = 'plant-7/line-1';

const makeStick = async () => {
  const world = await makeKioskWorld();
  await world.export('stick', { sites: ['plant-7'] });
  return { ...world, stick: world.path('stick'), diary: agentDiary(LINE, world.agent, 30) };
};

const leftovers = async (world: World, anchored = true) => {
  await using medium = await openMedium(world.path('stick'));
  const agentsOf = anchored ? mediumAgents(medium, digestOf(world.fleet.roots[0] ?? ''), NOW) : undefined;
  return await findLeftovers(medium, agentsOf);
};

const paths = async (world: World, anchored = true) =>
  (await leftovers(world, anchored)).files.map(({ path }) => path);

const both = (path: string): readonly string[] => [`${path}.ndjson`, `${path}.sigstore.json`];

describe('cleaning a medium', () => {
  it('finds the reports that a receipt acknowledges, back along the chain, and no others', async () => {
    await using world = await makeStick();
    const { stick, diary } = world;
    const old = [
      await diary.report(stick, 1, 8),
      await diary.report(stick, 5, 10),
      await diary.report(stick, 11, 20),
    ];
    await diary.report(stick, 15, 25);
    await diary.receipt(stick, 20, world.fleet.keys.receipt);
    expect(await paths(world)).toEqual(old.flatMap(both).toSorted());
    expect(await paths(world, false)).toEqual([]);
  });

  it('removes the leftover statement of a report whose events an interrupted run removed, and no other', async () => {
    await using world = await makeStick();
    const { stick, diary } = world;
    const halves = [await diary.report(stick, 1, 8), await diary.report(stick, 9, 25)];
    for (const half of halves) await rm(world.path('stick', `${half}.ndjson`));
    await diary.receipt(stick, 20, world.fleet.keys.receipt);
    expect(await paths(world)).toEqual([`${halves[0]}.sigstore.json`]);
  });

  it('keeps reports of a former enrolment, after a gap, or with a receipt by an unknown key', async () => {
    await using world = await makeStick();
    const { stick, diary } = world;
    await agentDiary(LINE, world.agent, 30, 'another life').report(stick, 1, 7);
    await diary.report(stick, 1, 8);
    await diary.report(stick, 12, 20);
    await diary.receipt(stick, 20, world.fleet.keys.receipt);
    const { files, notes } = await leftovers(world);
    expect(files.map(({ path }) => path.slice(-13))).toEqual(['000020.ndjson', 'sigstore.json']);
    expect(notes).toHaveLength(2);
    await diary.receipt(stick, 20, world.fleet.keys.bundle);
    expect(await paths(world)).toEqual([]);
  });

  it('finds temporary files by the names of the program only, and parts of earlier sets', async () => {
    await using world = await makeStick();
    const ours = ['.tmp-0123abcd', 'fleet/.tmp-0123abcd', 'blobs/sha256/.tmp-0123abcd'];
    const others = ['.tmp-notours', 'fleet/.temporary', 'photos/.tmp-0123abcd'];
    const sets = [digestOf('old'), digestOf('new')] as const;
    const part = (set: Digest): string => `fleet/parts/${partName(set, 1, false)}`;
    await mkdir(`${world.stick}/photos`);
    await mkdir(`${world.stick}/fleet/parts`, { recursive: true });
    for (const file of [...ours, ...others]) await writeFile(`${world.stick}/${file}`, 'x');
    for (const set of sets) await writeFile(`${world.stick}/${part(set)}`, 'fleet/part.json\0');
    await writeFile(`${world.stick}/fleet/parts/0123456789abcdef-0001.tar`, 'three years of work');
    await writeFile(`${world.stick}/fleet/parts/readme.tar`, 'x');
    // A directory medium replaces every set; a set that is listed or being written does not go.
    expect(await paths(world)).toEqual([...ours, part(sets[0]), part(sets[1])].toSorted());
    await writeFile(
      `${world.stick}/fleet/parts/progress.json`,
      canonicalBytes({ format: 1, set: sets[1], count: 1, sealed: false, parts: [] }),
    );
    expect(await paths(world)).toEqual([...ours, part(sets[0])].toSorted());
  });

  it('M41: removes nothing where a link leads away from the stick -> MEDIUM_INVALID', async () => {
    await using world = await makeStick();
    const elsewhere = world.path('archive');
    await mkdir(elsewhere);
    for (const name of ['.tmp-0123abcd', partName(digestOf('old'), 1, false)])
      await writeFile(`${elsewhere}/${name}`, 'x');
    await symlink(elsewhere, `${world.stick}/fleet/parts`);
    await rm(`${world.stick}/blobs`, { recursive: true });
    await mkdir(`${elsewhere}/sha256`);
    await writeFile(`${elsewhere}/sha256/.tmp-0123abcd`, 'x');
    await symlink(elsewhere, `${world.stick}/blobs`);
    expect(await refused(paths(world, false))).toBe('MEDIUM_INVALID');
    await rm(`${world.stick}/blobs`);
    expect(await refused(paths(world, false))).toBe('MEDIUM_INVALID');
    await rm(`${world.stick}/fleet/parts`);
    expect(await paths(world, false)).toEqual([]);
    expect((await readdir(elsewhere)).length).toBe(3);
  });

  it('finds a need that the agent has answered by a later report', async () => {
    await using world = await makeStick();
    const need = `${REQUESTS_FOLDER}/${agentFolder(LINE)}-needs.json`;
    const layer = digestOf(Buffer.alloc(50_000, 'base'));
    await mkdir(`${world.stick}/${REQUESTS_FOLDER}`, { recursive: true });
    const write = (missing: readonly Digest[]) =>
      writeFile(
        `${world.stick}/${need}`,
        canonicalBytes({
          fleet: 'acme',
          agent: LINE,
          missing,
          holds: [],
          at: formatTime(addDays(NOW, -1)),
        }),
      );
    await write([layer]);
    expect(await paths(world)).toEqual([]);
    await world.diary.report(world.stick, 1, 8, { holds: [world.first] });
    expect(await paths(world)).toEqual([need]);
    await write([layer, digestOf('something else')]);
    expect(await paths(world)).toEqual([]);
    await write([layer]);
    await world.diary.report(world.stick, 1, 8, {
      holds: [world.first],
      time: formatTime(addDays(NOW, -2)),
    });
    expect(await paths(world)).toEqual([]);
  });

  it('removes exactly these files, except those that are needed in the meantime', async () => {
    await using world = await makeStick();
    const path = await world.diary.report(world.stick, 1, 8);
    await world.diary.receipt(world.stick, 8, world.fleet.keys.receipt);
    await writeFile(`${world.stick}/.tmp-0123abcd`, 'x');
    await writeFile(`${world.stick}/holiday.jpg`, 'x');
    const before = [...filesOf(world.stick).keys()];
    const { files } = await leftovers(world);
    const removed = await removeLeftovers(files, async () => files.slice(1));
    expect(removed.map((file) => file.path)).toEqual(both(path));
    expect([...filesOf(world.stick).keys()]).toEqual(before.filter((file) => !both(path).includes(file)));
    await rm(`${world.stick}/.tmp-0123abcd`);
    expect(await paths(world)).toEqual([]);
  });
});
