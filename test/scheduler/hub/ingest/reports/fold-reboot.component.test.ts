import { describe, expect, it } from 'vitest';
import { shown } from '../../../../harness/run/shown.ts';
import { addDays, formatTime } from '#bundles/time';
import { readAlarmFacts } from '../../../../../scheduler/hub/alarms/read-alarm-facts.ts';
import type { Row } from '../../../../../scheduler/hub/questions/state/what-runs-where.ts';
import { readStatus } from '../../../../../scheduler/hub/questions/status/read-status.ts';
import { formatAgent, listSites } from '../../../../../scheduler/hub/sites/list-sites.ts';
import { chain, enrolledHub, type Happening, NOW, report, type TestHub } from '../../test-hub.ts';

type EnrolledHub = Awaited<ReturnType<typeof enrolledHub>>;

const SINCE = formatTime(addDays(NOW, -3));
const CAUSE = 'kernel 6.1.0-28-amd64 is installed, and 6.1.0-27-amd64 runs';
const happening = (detail: unknown, message = 'a reboot'): Happening => ({
  type: 'reboot',
  message,
  detail: detail as NonNullable<Happening['detail']>,
});
const REQUIRED = happening({
  state: 'required',
  since: SINCE,
  waits: 'a person: the release has no reboot policy for this cluster type',
  causes: [{ key: 'kernel:6.1.0-28-amd64', message: CAUSE }],
  services: ['cron.service'],
});
const BEGUN = happening({ state: 'reboots', causes: [] });
const NONE = happening({ state: 'none', causes: [], services: [] });
const REBOOTED = (...unwell: readonly string[]) => happening({ state: 'rebooted', unwell });

const ask = async (hub: TestHub) => {
  const { narrow, json } = await readStatus(hub, {}, NOW);
  const [site] = await listSites(hub.store.db, hub.store.fleet);
  const [listed] = site?.agents ?? [];
  return {
    narrow: shown(narrow).join('\n'),
    rows: (json as { readonly rows: readonly Row[] }).rows,
    listed: listed && formatAgent(listed).join('  '),
    alarms: (await readAlarmFacts(hub.store.db, [], NOW)).agents.map(({ reboot }) => reboot),
  };
};

const carry = async (hub: EnrolledHub, ...happenings: readonly Happening[]): Promise<void> => {
  const stick = await hub.stick();
  await report(stick, hub.agent, chain(hub.agent, [...happenings]));
  await hub.importFrom(stick);
};

describe('a reboot that an agent reports', () => {
  it('is shown as required in the status, the where table, the page, the list of sites, and the alarms', async () => {
    await using hub = await enrolledHub();
    await carry(hub, REQUIRED);
    const { narrow, rows, listed, alarms } = await ask(hub);
    const reboot = {
      since: SINCE,
      causes: CAUSE,
      waits: 'a person: the release has no reboot policy for this cluster type',
    };
    expect(rows[0]?.reboot).toEqual(reboot);
    expect(narrow.replaceAll(/\s+/g, ' ')).toContain(`needs a reboot, 3 d ago: ${CAUSE}; waits for a person`);
    expect(narrow).toContain('cron.service');
    expect(listed).toContain(`needs a reboot since ${SINCE}`);
    expect(alarms).toEqual([reboot]);
  });

  it('is over after the reboot, and a package that was not healthy after it is named', async () => {
    await using well = await enrolledHub();
    await carry(well, REQUIRED, BEGUN, NONE, REBOOTED());
    expect((await ask(well)).rows[0]?.reboot).toBeNull();
    expect((await ask(well)).narrow).not.toContain('reboot');
    await using unwell = await enrolledHub();
    await carry(unwell, REQUIRED, BEGUN, NONE, REBOOTED('oven'));
    const { narrow, alarms } = await ask(unwell);
    expect(alarms).toEqual([null]);
    expect(narrow.replaceAll(/\s+/g, ' ')).toContain('was not healthy after it: oven');
  });

  it.each([
    ['no detail', { type: 'reboot' }, null],
    ['a state of a later version', happening({ state: 'soft' }), null],
    ['causes that are no list', happening({ state: 'required', causes: 'kernel' }), 'a reboot'],
    ['causes without messages', happening({ state: 'required', causes: [null, 7, {}] }), 'a reboot'],
    [
      'a cause of 10,000 characters',
      happening({ state: 'required', causes: [{ message: 'x'.repeat(1e4) }] }),
      'x'.repeat(300),
    ],
    ['a line break in its words', happening({ state: 'required', causes: [{ message: 'a\nb' }] }), undefined],
    [
      'a time in the future',
      happening({ state: 'required', since: '9999-12-31T23:59:59Z', causes: [] }),
      'a reboot',
    ],
  ] as const)('is read with %s', async (_, event, causes) => {
    await using hub = await enrolledHub();
    await carry(hub, event);
    const found = (await ask(hub)).rows[0]?.reboot ?? null;
    if (causes === undefined) expect(found?.causes).not.toContain('\n');
    else expect(found?.causes ?? null).toBe(causes);
    expect((found?.since ?? '') <= formatTime(NOW)).toBe(true);
  });
});
