import { expect, test } from 'vitest';
import { findHostLine } from '../../../agent/enroll/find-host-line.ts';
import type { HostLine } from '#bundles/formats/medium/hosts';

const line = (agent: string, match: HostLine['match']): HostLine => ({
  site: 'plant-7',
  agent,
  channel: { environment: 'prod', clusterType: 'press' },
  match,
  token: `token of ${agent}`,
});
const LINES = [
  line('press-1', { serial: 'PX-1' }),
  line('press-2', { mac: '02:00:00:00:00:02' }),
  line('press-3', { serial: 'PX-3', model: 'Box' }),
];
const own = (facts: Readonly<Record<string, string>>, hosts = LINES) =>
  findHostLine({ fleet: 'acme', hosts }, facts, 'hosts.json').agent;

test('findHostLine returns the line whose facts match the machine, ignoring upper and lower case', () => {
  expect(own({ serial: 'px-1' })).toBe('press-1');
  expect(own({ serial: 'PX-9', macs: '02:00:00:00:00:01 02:00:00:00:00:02' })).toBe('press-2');
  expect(own({ serial: 'PX-3', model: 'Box' })).toBe('press-3');
});

test('findHostLine accepts a MAC address with dashes, dots or without separators', () => {
  const hosts = ['02-42-AC-11-00-02', '0242.ac11.0002', '0242AC110002'].map((mac) => line(mac, { mac }));
  for (const one of hosts)
    expect(own({ macs: '02:42:ac:11:00:01 02:42:ac:11:00:02' }, [one])).toBe(one.agent);
});

test('findHostLine refuses a machine that matches no line or two, with its facts', () => {
  expect(() => own({ serial: 'PX-3' })).toThrow(
    'hosts.json has no line for this machine, whose facts are serial "PX-3", mac "", model ""',
  );
  expect(() => own({ serial: 'PX-1', macs: '02:00:00:00:00:02' })).toThrow(
    'hosts.json has 2 lines for this machine',
  );
});
