import { join } from 'node:path';
import { expect, it } from 'vitest';
import { formatTime } from '#bundles/time';
import AlarmsAcknowledge from '../../../scheduler/commands/alarms/acknowledge.ts';
import AlarmsEnd from '../../../scheduler/commands/alarms/end.ts';
import AlarmsSilence from '../../../scheduler/commands/alarms/silence.ts';
import { createAlarm } from '../../../scheduler/hub/alarms/alarm.ts';
import { keepAlarms } from '../../../scheduler/hub/alarms/keep-alarms.ts';
import { enrolledHub, NOW } from '../hub/test-hub.ts';
import { runCommandClass } from './run-command-class.ts';

it('acknowledges, silences and ends an alarm, each in one line, and refuses a silence without an end', async () => {
  await using hub = await enrolledHub();
  const subject = { site: 'lab', agent: 'lab/rig', environment: 'qa' };
  const alarm = createAlarm('AGENT_LATE', 'warning', subject, formatTime(NOW), 'late');
  await keepAlarms(hub.store, [alarm], { now: NOW });
  const run = (command: Parameters<typeof runCommandClass>[0], ...words: readonly string[]) =>
    runCommandClass(command, [
      ...words,
      '--reason',
      'line 3 is being rebuilt',
      '--person',
      'ann',
      '--keys',
      join(hub.path, 'keys'),
      '--layout',
      hub.layout,
      '--db',
      hub.db,
      '--now',
      '2026-11-21T08:00:00Z',
    ]);
  const taken = await run(AlarmsAcknowledge, alarm.id);
  expect(taken).toMatchObject({ code: 0, out: '1 alarm acknowledged: AGENT_LATE\n', err: '' });
  const again = await run(AlarmsAcknowledge, alarm.id);
  expect([again.code, again.err]).toEqual([
    8,
    expect.stringContaining('ann acknowledged this at 2026-11-21'),
  ]);
  const endless = await run(AlarmsSilence, alarm.id, '--until', 'monday');
  expect([endless.code, endless.err]).toEqual([
    2,
    expect.stringContaining('--until: "monday" is not the end of a silence'),
  ]);
  const silent = await run(AlarmsSilence, alarm.id, '--until', '4h');
  expect(silent).toMatchObject({
    code: 0,
    out: 'AGENT_LATE is silent until 2026-11-21T12:00:00Z\n',
    err: '',
  });
  const ended = await run(AlarmsEnd, alarm.id);
  expect(ended).toMatchObject({ code: 0, out: 'AGENT_LATE has notices again\n', err: '' });
  const none = await run(AlarmsEnd, alarm.id);
  expect([none.code, none.err]).toEqual([5, expect.stringContaining('no acknowledgement and no silence')]);
});
