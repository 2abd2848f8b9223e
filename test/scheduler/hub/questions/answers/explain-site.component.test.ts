import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { formatTime } from '#bundles/time';
import Explain from '../../../../../scheduler/commands/platform/explain.ts';
import SitesValuesCheck from '../../../../../scheduler/commands/sites/values/check.ts';
import { setManyValues } from '../../../../../scheduler/hub/sites/set-many-values.ts';
import type { ValueChange } from '../../../../../scheduler/hub/sites/set-values.ts';
import { siteSigner } from '../../../../../scheduler/hub/sites/site-signer.ts';
import { explainSite } from '../../../../../scheduler/hub/questions/answers/explain-site.ts';
import { runCommandClass } from '../../../commands/run-command-class.ts';
import { enrolledHub, HOSTS, NOW, type TestHub } from '../../test-hub.ts';

const places = (hub: TestHub) => {
  const at = { keys: join(hub.path, 'keys'), layout: hub.layout, db: hub.db, now: formatTime(NOW) };
  return Object.entries(at).flatMap(([flag, value]) => [`--${flag}`, value]);
};

const set = async (hub: TestHub, person: string, change: Partial<ValueChange>) =>
  setManyValues(hub.store, {
    changes: [{ site: 'plant-7', set: {}, unset: [], ...change }],
    signer: await siteSigner(hub),
    now: NOW,
    by: { person, reason: 'why' },
  });

const asking = async (): Promise<TestHub> => {
  const hub = await enrolledHub();
  await hub.layoutWriter.release({
    channel: HOSTS,
    version: 3,
    bundles: [
      {
        kind: 'host',
        packages: { app: { 'package.json': '{}' } },
        siteInputs: {
          line: { type: 'integer', default: 1 },
          gate: { type: 'string' },
          adminPassword: { type: 'string' },
        },
      },
    ],
  });
  await set(hub, 'ann', { set: { line: 7, adminPassword: 'hunter2', old: true } });
  await set(hub, 'bob', { agent: 'press-1', set: { line: 8 } });
  return hub;
};

describe('the explanation of values of a site', () => {
  it('names place, person, time, what is overridden and the field; and what is missing or has no taker', async () => {
    await using hub = await asking();
    const [agent] = await explainSite(hub, 'plant-7');
    expect(agent).toMatchObject({
      agent: 'press-1',
      channel: 'prod/factory-host',
      release: 3,
      untaken: ['old'],
    });
    const inputs = Object.fromEntries((agent?.assignments[0]?.inputs ?? []).map((one) => [one.name, one]));
    expect(inputs['line']).toMatchObject({
      used: { origin: 'agent', value: 8, person: 'bob', reason: 'why', since: formatTime(NOW) },
      overrides: [
        { origin: 'site', value: 7, person: 'ann' },
        { origin: 'default', value: 1 },
      ],
      fields: [expect.stringContaining('/line')],
    });
    expect(inputs['gate']).toMatchObject({ used: undefined, fault: 'gate is missing' });
    expect(inputs['adminPassword']?.used?.value).toBe('withheld');
    await expect(explainSite(hub, 'plant-7', { assignment: 'ap' })).rejects.toMatchObject({ code: 'USAGE' });
    await expect(explainSite(hub, 'plant-9')).rejects.toMatchObject({ code: 'SITE_MISSING' });
  });

  it('is printed by explain --site, and the problems of all sites by sites values check, without secrets', async () => {
    await using hub = await asking();
    const explained = await runCommandClass(Explain, ['--site', 'plant-7', 'app', ...places(hub)]);
    expect([explained.code, explained.err]).toEqual([0, '']);
    expect(explained.out).toContain('line = 8  from agent, by bob at 2026-11-21T08:00:00Z: why');
    expect(explained.out).toContain('overrides 7  from site, by ann');
    expect(explained.out).not.toContain('hunter');
    const checked = await runCommandClass(SitesValuesCheck, places(hub));
    expect(checked.out).toContain('plant-7/press-1  app  gate: gate is missing');
    expect(checked.out).toContain('plant-7/press-1  -  old: no assignment takes it');
    expect(checked.code).toBe(8);
    await set(hub, 'ann', { set: { gate: 'x' }, unset: ['old'] });
    expect(await runCommandClass(SitesValuesCheck, places(hub))).toMatchObject({ code: 0 });
  });

  it.each([
    [['--site', 'plant-7', '--environment', 'prod'], /--site does not go with/],
    [[], /there is nothing to explain/],
  ])('is refused with %j', async (words, message) => {
    await using hub = await enrolledHub();
    const done = await runCommandClass(Explain, [...words, ...places(hub)]);
    expect([done.code, done.err]).toEqual([2, expect.stringMatching(message)]);
  });
});
