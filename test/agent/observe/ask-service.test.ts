import { expect, it } from 'vitest';
import { judgeService } from '../../../agent/observe/ask-service.ts';

type Units = { readonly [unit: string]: Readonly<Record<string, string>> };

/** What `systemctl show` of systemd 252 and 257 prints for a unit in each state. */
const judge = (units: Units) =>
  judgeService((unit) => (units[unit] ? new Map(Object.entries(units[unit])) : undefined));
const service = (ActiveState: string, more: Readonly<Record<string, string>> = {}): Units => ({
  'fleet-agent.service': { LoadState: 'loaded', ActiveState, SubState: 'dead', TriggeredBy: '', ...more },
});

it.each(['active', 'reloading', 'activating', 'deactivating'])(
  'a service in the state "%s" is running',
  (state) => {
    expect(judge(service(state))).toBe('running');
  },
);

it('an inactive or failed service, and one between two attempts, is stopped', () => {
  for (const state of ['inactive', 'failed']) expect(judge(service(state))).toBe('stopped');
  expect(judge(service('activating', { SubState: 'auto-restart' }))).toBe('stopped');
  expect(judge(service('activating', { SubState: 'auto-restart-queued' }))).toBe('stopped');
});

it.each(['timer', 'socket', 'path'])(
  'an inactive service with an active %s unit is waiting for it',
  (kind) => {
    const trigger = `fleet-agent.${kind}`;
    const triggered = service('inactive', { TriggeredBy: `${trigger} other.timer` });
    expect(judge({ ...triggered, [trigger]: { ActiveState: 'active' } })).toBe('waits');
    expect(judge({ ...triggered, [trigger]: { ActiveState: 'inactive' } })).toBe('stopped');
    expect(judge(triggered)).toBe('stopped');
  },
);

it('a masked service is "masked", because it must be unmasked before it is enabled', () => {
  expect(judge(service('inactive', { LoadState: 'masked' }))).toBe('masked');
});

it('a service is "unknown" without an answer of systemd', () => {
  expect(judge({})).toBe('unknown');
});
