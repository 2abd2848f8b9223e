import { appendFile, readFile, rm, writeFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { digestOf } from '#bundles/digest';
import { openMedium } from '#bundles/formats/medium/open-medium';
import { copyReports } from '../../../exporter/reports/copy-reports.ts';
import { listReports } from '../../../exporter/reports/list-reports.ts';
import { mediumAgents } from '../../../exporter/reports/medium-agents.ts';
import { NOW, newSigningKey } from '../../harness/fleets/signed-fleet.ts';
import { filesOf } from '../files-of.ts';
import { refused } from '../refused.ts';
import { makeKioskWorld, type World } from '../world.ts';
import { agentDiary } from './agent-diary.ts';

const LINE = 'plant-7/line-1';

const makeStick = async () => {
  const world = await makeKioskWorld();
  await world.export('stick', { sites: ['plant-7'] });
  return { ...world, stick: world.path('stick'), diary: agentDiary(LINE, world.agent, 30) };
};

const list = async (world: World, pinned = digestOf(world.fleet.roots[0] ?? '')) => {
  await using medium = await openMedium(world.path('stick'));
  return await listReports(medium, mediumAgents(medium, pinned, NOW));
};

describe('reports on a medium', () => {
  it('are listed by agent with their ranges, gaps and the last acknowledged event', async () => {
    await using world = await makeStick();
    await world.diary.report(world.stick, 1, 8);
    await world.diary.report(world.stick, 5, 10);
    await world.diary.report(world.stick, 21, 30);
    await world.diary.receipt(world.stick, 8, world.fleet.keys.receipt);
    const { agents, refused: bad } = await list(world);
    expect(bad).toEqual([]);
    expect(agents).toEqual([
      expect.objectContaining({ agent: LINE, gaps: [{ from: 11, to: 20 }], acknowledged: 8 }),
    ]);
    expect(agents[0]?.reports.map(({ from, to, signature }) => [from, to, signature])).toEqual([
      [1, 8, 'right'],
      [5, 10, 'right'],
      [21, 30, 'right'],
    ]);
  });

  it('are refused one by one: signed by another key, changed, or in the folder of another agent', async () => {
    await using world = await makeStick();
    await agentDiary(LINE, newSigningKey(), 30).report(world.stick, 1, 8);
    const changed = await world.diary.report(world.stick, 9, 12);
    const file = `${world.stick}/${changed}.ndjson`;
    await writeFile(file, (await readFile(file, 'utf8')).replace('"monotonicMs":9', '"monotonicMs":1'));
    await world.diary.report(world.stick, 13, 14);
    await agentDiary('plant-7/stranger', newSigningKey(), 3).report(world.stick, 1, 3);
    const { agents } = await list(world);
    const found = agents.flatMap(({ agent, reports }) =>
      reports.map(({ from, signature, code }) => [agent, from, signature, code]),
    );
    expect(found).toEqual([
      [LINE, 1, 'refused', 'UNKNOWN_KEY'],
      [LINE, 9, 'refused', 'REPORT_INVALID'],
      [LINE, 13, 'right', undefined],
      ['plant-7/stranger', 1, 'refused', 'AGENT_UNKNOWN'],
    ]);
  });

  it('are not reported as valid without a trust root, nor acknowledged by a receipt with an unknown key', async () => {
    await using world = await makeStick();
    await world.diary.report(world.stick, 1, 8);
    await world.diary.receipt(world.stick, 8, newSigningKey());
    expect((await list(world)).agents[0]?.acknowledged).toBeUndefined();
    await using medium = await openMedium(world.stick);
    const { agents } = await listReports(medium, undefined);
    expect(agents[0]?.reports[0]?.signature).toBe('unchecked');
    expect((await list(world, digestOf('another root'))).agents[0]?.reports[0]).toMatchObject({
      signature: 'refused',
      code: 'ROOT_UNKNOWN',
    });
  });

  it('without signature or with an invalid one are listed as refused and hide no other', async () => {
    await using world = await makeStick();
    const lone = await world.diary.report(world.stick, 1, 8);
    await rm(`${world.stick}/${lone}.sigstore.json`);
    const broken = await world.diary.report(world.stick, 9, 12);
    await writeFile(`${world.stick}/${broken}.sigstore.json`, '{');
    await world.diary.report(world.stick, 13, 14);
    const { agents, refused: bad } = await list(world);
    expect(bad.map(({ code }) => code)).toEqual(['UNSIGNED', 'BAD_JSON']);
    expect(agents[0]?.reports).toHaveLength(1);
  });

  it('are copied whole, once, and never over another file', async () => {
    await using world = await makeStick();
    const path = await world.diary.report(world.stick, 1, 8);
    await writeFile(`${world.stick}/fleet/reports/holiday.jpg`, 'not ours');
    await using medium = await openMedium(world.stick);
    const out = world.path('out');
    expect(await copyReports(medium, out)).toEqual({ folder: out, files: 2, there: 0 });
    expect(await copyReports(medium, out)).toEqual({ folder: out, files: 0, there: 2 });
    expect([...filesOf(out).keys()]).toEqual([`${path}.ndjson`, `${path}.sigstore.json`]);
    await world.diary.report(world.stick, 9, 12);
    await appendFile(`${out}/${path}.ndjson`, ' ');
    expect(await refused(copyReports(medium, out))).toBe('USAGE');
    expect(filesOf(out).size).toBe(2);
  });
});
