import { describe, expect, test } from 'vitest';
import { digestOf } from '#bundles/digest';
import { loadPackage } from '../../../agent/apply/load-package.ts';
import { collectGarbage } from '../../../agent/store/collect-garbage.ts';
import { readPackages } from '../../../agent/store/applied/packages.ts';
import { createWorld, onePackage } from '../world.ts';

const carrying = (model: string) => onePackage('vision', 'settings', { blobs: { '/opt/model': model } });
const ONE = 'weights of the first model';
const TWO = 'weights of the second model';

describe('a blob of a package', () => {
  test('comes with its release, and stays as long as somebody may go back to it', async () => {
    await using world = await createWorld();
    const { state } = world.agent;
    const kept = async (...models: readonly string[]) =>
      await Promise.all(models.map(async (model) => (await state.blobs.size(digestOf(model))) !== undefined));
    await world.release(1, [carrying(ONE)]);
    await collectGarbage(state);
    expect(await kept(ONE)).toEqual([true]);
    await world.release(2, [carrying(TWO)]);
    await collectGarbage(state);
    expect(await kept(ONE, TWO)).toEqual([true, true]);
    await world.release(3, [onePackage('vision', 'settings alone')]);
    await collectGarbage(state);
    expect(await kept(ONE, TWO)).toEqual([false, true]);
  });

  test('is given to its own package and to no other', async () => {
    await using world = await createWorld();
    const { agent } = world;
    await world.release(1, [carrying(ONE), onePackage('other', 'x', { blobs: { '/opt/other': TWO } })]);
    const ref = readPackages(agent.state).find(({ assignment }) => assignment === 'vision')?.desired;
    if (!ref) throw new Error('there is no package');
    const { blobs } = await loadPackage(agent.state, agent.identity.agent, ref, agent.signal);
    expect(await blobs?.size(digestOf(ONE))).toBe(ONE.length);
    expect(await blobs?.size(digestOf(TWO))).toBeUndefined();
    await expect(blobs?.open(digestOf(TWO))).rejects.toMatchObject({ code: 'MISSING_BLOB' });
  });
});
