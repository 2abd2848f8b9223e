import { describe, expect, it } from 'vitest';
import { answerPackage } from '../../../../../scheduler/hub/questions/answers/answer-package.ts';
import { chain, enrolled, type Happening, NOW, report, type TestHub } from '../../test-hub.ts';
import { applied, days, PROD, shop } from '../history/shop-hub.ts';

/** A second agent of prod that runs the first version, and then says this. */
const withAgent = async (more: readonly Happening[] = []) => {
  const hub = await shop();
  const agent = await enrolled(hub, 'plant-8/press-1', PROD);
  const stick = await hub.stick('plant-8');
  await report(stick, agent, chain(agent, [applied('web', hub.first, days(-1)), ...more]));
  await hub.importFrom(stick);
  return hub;
};

const ask = (hub: TestHub, agent = 'plant-8/press-1', assignment = 'web') =>
  answerPackage(hub, { agent, assignment }, NOW);

describe('a package at an agent', () => {
  it('has its objects, and the changes of the update to the wanted package, with secrets masked', async () => {
    await using hub = await withAgent();
    const { running, wanted, objects, differences, drift, channel, earlier } = await ask(hub);
    expect(channel).toBe('prod/kiosk');
    expect(earlier.map(({ release, name }) => [release, name])).toEqual([
      [2, 'web 2.0'],
      [1, 'web 1.0'],
    ]);
    expect(running).toMatchObject({ package: hub.first, name: 'web 1.0' });
    expect(wanted).toMatchObject({ package: hub.prodSecond, release: 3 });
    expect(objects).toEqual([
      {
        key: 'apps/Deployment/shop/web',
        object: 'Deployment.apps shop/web',
        group: 'Deployment',
        file: 'app.yaml',
        wanted: null,
      },
      {
        key: '/Secret/shop/key',
        object: 'Secret shop/key',
        group: 'Secret',
        file: 'secret.yaml',
        wanted: null,
      },
    ]);
    expect(differences?.map(({ object, outcome }) => [object, outcome])).toEqual([
      ['Deployment.apps shop/web', 'configured'],
      ['Secret shop/key', 'configured'],
    ]);
    expect(differences?.[0]?.diff).toMatch(/-.*replicas: 2\n\+.*replicas: 5/);
    expect(JSON.stringify(differences)).not.toContain('second');
    expect(drift).toMatchObject({ drifted: false, objects: [] });
  });

  it('has no changes when the wanted package runs', async () => {
    await using hub = await shop();
    expect(await ask(hub, 'plant-7/press-1')).toMatchObject({ differences: [] });
  });

  it('shows drifted objects as the agent listed them, and leaves out malformed entries', async () => {
    const one = {
      key: 'apps/Deployment/shop/web',
      what: 'content',
      message: 'Deployment shop/web: spec.replicas differs (last written by kubectl)',
    };
    const drift = [one, 'a word', null, { key: 7 }];
    await using hub = await withAgent([
      {
        type: 'drift',
        assignment: 'web',
        code: 'DRIFT',
        message: '9 objects differ',
        detail: { drift, more: 5 },
      },
    ]);
    expect((await ask(hub)).drift).toMatchObject({
      drifted: true,
      message: '9 objects differ',
      objects: [
        { ...one, diff: expect.stringContaining('another value, last written by kubectl') },
        { key: '', what: '', message: '', diff: null },
      ],
      more: 5,
    });
  });

  it('compares only so many objects that an agent names again and again', async () => {
    const one = { key: 'apps/Deployment/shop/web', what: 'missing', message: '' };
    const drift = Array.from({ length: 1000 }, () => one);
    await using hub = await withAgent([
      { type: 'drift', assignment: 'web', code: 'DRIFT', detail: { drift } },
    ]);
    const { objects = [] } = (await ask(hub)).drift ?? {};
    expect(objects).toHaveLength(1000);
    expect(objects[0]?.diff).toContain('replicas: 2');
    expect(objects.at(-1)?.diff).toBeNull();
  });

  it('is known by its digest only when no release contains it', async () => {
    await using hub = await withAgent([applied('web', `sha256:${'e'.repeat(64)}`, days(0))]);
    expect(await ask(hub)).toMatchObject({
      running: { name: 'eeeeeeeeeeee', version: null },
      objects: null,
      differences: null,
    });
  });

  it('is refused to a reader without access to the assignment', async () => {
    await using hub = await shop();
    const asked = { agent: 'plant-7/press-1', assignment: 'web' };
    const parts = new Map([['prod', new Set(['other'])]]);
    const refused = answerPackage(hub, { ...asked, visible: { whole: new Set(['qa']), parts } }, NOW);
    await expect(refused).rejects.toMatchObject({ code: 'USAGE' });
    const visible = { whole: new Set<string>(), parts: new Map([['prod', new Set(['web'])]]) };
    expect(await answerPackage(hub, { ...asked, visible }, NOW)).toMatchObject(asked);
  });

  it('is refused for an unknown agent, and empty when nothing runs or is wanted', async () => {
    await using hub = await shop();
    await expect(ask(hub, "x/y' or 1=1")).rejects.toMatchObject({ code: 'USAGE' });
    expect(await ask(hub, 'plant-7/press-1', 'nothing')).toMatchObject({
      running: null,
      wanted: null,
      drift: null,
    });
  });
});
